import { actorSchema, knownReasonCode, reasonCodeSchema, reasonSchema } from '../../core/reason.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';

enumTypeOf('ReasonActor', actorSchema, 'The party that must act before a reason no longer holds.', {
  CUSTOMER: 'The company that owns the fleet.',
  MANUFACTURER: 'The manufacturer, or the provider that answers for it.',
  OPERATOR: 'The operator of the gateway.',
});

export const ReasonCodeRef = enumTypeOf(
  'ReasonCode',
  reasonCodeSchema,
  'The code of a reason for an eligibility status, or for the state of a contract at the manufacturer.',
  {
    CONNECTIVITY_DEACTIVATED: 'The vehicle’s connectivity is deactivated. Its driver or holder can activate it.',
    PRIMARY_USER_MISSING: 'The vehicle has no primary user. Its driver or holder can be assigned.',
    NOT_ELIGIBLE: 'The manufacturer says that the vehicle is not eligible, without a reason.',
    NO_SERVICE_AVAILABLE: 'The manufacturer offers no data service for the vehicle.',
    VIN_REFUSED: 'The manufacturer does not accept the VIN.',
    VEHICLE_BLACKLISTED: 'The manufacturer has the vehicle on a blacklist.',
    REFUSED: 'The manufacturer’s service refused to check the vehicle.',
    PACK_NOT_OFFERED: 'The operator has not set up the pack with the manufacturer’s service.',
    ACTIVATION_REJECTED:
      'The manufacturer rejected the activation of a contract; the message has its own words, if it gave some.',
    LICENCE_EXPIRED: 'The licence of a service has expired; the operator extends it.',
    MANUFACTURER_UNKNOWN: 'The VIN names no known manufacturer.',
    MANUFACTURER_NOT_SUPPORTED: 'No configured provider serves the manufacturer.',
    PROVIDER_TIMEOUT: 'The manufacturer’s service did not answer in time.',
    PROVIDER_UNREACHABLE: 'The manufacturer’s service could not be reached.',
    PROVIDER_ERROR: 'The manufacturer’s service reported a fault of its own.',
    PROVIDER_BAD_ANSWER: 'The manufacturer’s service gave an unreadable answer.',
    PROVIDER_BUSY: 'The manufacturer’s service asked the gateway to come back later.',
    PROVIDER_CREDENTIALS: 'The manufacturer’s service refused the gateway’s credentials.',
    PROVIDER_UNEXPECTED: 'The manufacturer’s service answered in a way that the gateway does not know.',
    PROVIDER_ENROLMENT_PENDING: 'The vehicle was added to the manufacturer’s account and is not known there yet.',
    OTHER: 'A code that only another version of the gateway knows; `message` has its meaning, REST the code itself.',
  },
);

objectTypeOf('EligibilityReason', reasonSchema, {
  code: { type: ReasonCodeRef, resolve: ({ code }: { code: string }) => knownReasonCode(code) },
});
