import { actorSchema, knownReasonCode, reasonCodeSchema, reasonSchema } from '../../core/reason.ts';
import { enumTypeOf, objectTypeOf, unknownIn } from './described.ts';

enumTypeOf('ReasonActor', actorSchema, 'The party that must act before a reason no longer holds.', {
  CUSTOMER: 'The company that owns the vehicle must act.',
  DRIVER: 'The vehicle’s driver, or whoever holds its account with the manufacturer, must act.',
  MANUFACTURER: 'The vehicle’s manufacturer must act, or the provider that answers for it.',
  OPERATOR: 'The operator of the gateway must act.',
  NONE: 'Nobody must act: time alone changes it.',
});

export const ReasonCodeRef = enumTypeOf(
  'ReasonCode',
  reasonCodeSchema,
  'The code of a reason for an eligibility status, or for the state of a contract at the manufacturer.',
  {
    CONNECTIVITY_DEACTIVATED: 'The vehicle’s connectivity is deactivated. Its driver or holder can activate it.',
    PRIMARY_USER_MISSING: 'The manufacturer knows no primary user of the vehicle; its driver or holder can register.',
    NOT_ELIGIBLE: 'The manufacturer says that it cannot deliver data of the vehicle, without a reason.',
    NO_SERVICE_AVAILABLE: 'The manufacturer offers no data service for the vehicle.',
    VIN_REFUSED: 'The manufacturer does not accept the VIN.',
    VEHICLE_BLACKLISTED: 'The manufacturer has the vehicle on a blacklist, so that it gets no data services.',
    REFUSED: 'The manufacturer’s service refused to check the vehicle.',
    PACK_NOT_OFFERED: 'The operator of the gateway has not set up the contract’s pack with the manufacturer’s service.',
    ACTIVATION_REJECTED:
      'The manufacturer rejected the activation of a contract; `message` has its own words, if it gave some.',
    LICENCE_EXPIRED: 'The licence of a manufacturer’s data service has expired; the gateway’s operator can extend it.',
    ACCESS_REVOKED: 'The driver or the manufacturer ended the access to a vehicle that was active; `actor` says who.',
    WAITING_FOR_GAP: 'The end waits, since another contract that needs the same access begins soon.',
    END_NOT_CONFIRMED: 'The end was ordered, and the manufacturer has not confirmed it yet.',
    CANCELLATION_NOT_SUPPORTED:
      'The manufacturer cannot cancel what it has not decided yet; the end is asked for again at `nextAttemptAt`.',
    MANUFACTURER_UNKNOWN: 'The VIN names no known manufacturer.',
    MANUFACTURER_NOT_SUPPORTED: 'No configured provider serves the manufacturer.',
    PROVIDER_TIMEOUT: 'The manufacturer’s service did not answer the gateway in time.',
    PROVIDER_UNREACHABLE: 'The manufacturer’s service could not be reached by the gateway.',
    PROVIDER_ERROR: 'The manufacturer’s service reported a fault of its own.',
    PROVIDER_BAD_ANSWER: 'The manufacturer’s service gave an answer that the gateway cannot read.',
    PROVIDER_BUSY: 'The manufacturer’s service asked the gateway to come back later.',
    PROVIDER_CREDENTIALS: 'The manufacturer’s service refused the gateway’s credentials.',
    PROVIDER_UNEXPECTED: 'The manufacturer’s service answered in a way that the gateway does not know.',
    PROVIDER_ENROLMENT_PENDING: 'The vehicle is in the gateway’s account at the manufacturer, but not known there yet.',
    OTHER: unknownIn('A code', '`message` says what it means'),
  },
);

objectTypeOf('EligibilityReason', reasonSchema, {
  code: { type: ReasonCodeRef, resolve: ({ code }: { code: string }) => knownReasonCode(code) },
});
