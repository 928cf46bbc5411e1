import { z } from 'zod';
import { eligibilitySummarySchema } from '../../core/fleets/fleet.ts';
import { followEligibilityChanges } from '../../core/following/follow-changes.ts';
import { actorSchema, knownReasonCode, reasonCodeSchema, reasonSchema } from '../../core/reason.ts';
import { requestVerification } from '../../core/vehicles/eligibility.ts';
import {
  connectivityStatusSchema,
  dataDeliverySchema,
  eligibilitySchema,
  eligibilityStatusSchema,
  type Vehicle,
} from '../../core/vehicles/vehicle.ts';
import { requestVerificationInput } from '../../core/vehicles/vin-lists.ts';
import { schemaBuilder } from './builder.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { addMutation } from './mutation.ts';
import { resolvePlannedField } from './planned.ts';
import { VehicleRef } from './vehicles.ts';

export const EligibilityStatusRef = enumTypeOf(
  'EligibilityStatus',
  eligibilityStatusSchema,
  'How far the verification of a vehicle has come.',
  {
    PENDING: 'No answer yet. It is asked for in the background, again and again where need be.',
    ELIGIBLE: 'The manufacturer can deliver data of this vehicle.',
    INELIGIBLE: 'The manufacturer cannot deliver data of this vehicle.',
    UNSUPPORTED: 'No configured provider answers for the manufacturer, so nobody can be asked.',
    FAILED:
      'There is no answer and there will be none until somebody acts; `reason` says who. It is not tried again before its re-check.',
  },
);

enumTypeOf('DataDelivery', dataDeliverySchema, 'How data of a vehicle can be had.', {
  PULL: 'The data is fetched.',
  PUSH: 'The data is sent as it comes up.',
});

enumTypeOf(
  'ConnectivityStatus',
  connectivityStatusSchema,
  'Whether the vehicle is connected, as its manufacturer says.',
  {
    ACTIVATED: 'Connected.',
    DEACTIVATED: 'Not connected; it may be activated.',
    UNKNOWN: 'The manufacturer does not know.',
  },
);

enumTypeOf('ReasonActor', actorSchema, 'Who must act for a verification to succeed.', {
  CUSTOMER: 'The owner of the fleet.',
  MANUFACTURER: 'The manufacturer, or its provider.',
  OPERATOR: 'Who runs this gateway.',
});

const ReasonCode = enumTypeOf('ReasonCode', reasonCodeSchema, 'Why a vehicle is not eligible, or not verified yet.', {
  CONNECTIVITY_DEACTIVATED: 'The vehicle’s connectivity is deactivated. Its driver or holder can activate it.',
  PRIMARY_USER_MISSING: 'The vehicle has no primary user. Its driver or holder can be assigned.',
  NOT_ELIGIBLE: 'The manufacturer says that the vehicle is not eligible, and not why.',
  NO_SERVICE_AVAILABLE: 'The manufacturer offers no data service for the vehicle.',
  VIN_REFUSED: 'The manufacturer does not accept the VIN.',
  VEHICLE_BLACKLISTED: 'The manufacturer has the vehicle on a blacklist.',
  REFUSED: 'The manufacturer’s service refused to check the vehicle.',
  PACK_NOT_OFFERED: 'The operator has not set up the pack with the manufacturer’s service.',
  ACTIVATION_REJECTED:
    'The manufacturer rejected the activation of a contract; the message has its own words, if it gave some.',
  LICENCE_EXPIRED: 'The licence of a service has expired; the operator extends it.',
  MANUFACTURER_UNKNOWN: 'The VIN does not tell the manufacturer.',
  MANUFACTURER_NOT_SUPPORTED: 'No configured provider answers for the manufacturer.',
  PROVIDER_TIMEOUT: 'The manufacturer’s service did not answer in time.',
  PROVIDER_UNREACHABLE: 'The manufacturer’s service could not be reached.',
  PROVIDER_ERROR: 'The manufacturer’s service reported a fault of its own.',
  PROVIDER_BAD_ANSWER: 'The manufacturer’s service gave an unreadable answer.',
  PROVIDER_BUSY: 'The manufacturer’s service asked the gateway to come back later.',
  PROVIDER_CREDENTIALS: 'The manufacturer’s service refused the gateway’s credentials.',
  PROVIDER_UNEXPECTED: 'The manufacturer’s service answered in a way that the gateway does not know.',
  PROVIDER_ENROLMENT_PENDING: 'The vehicle was added to the manufacturer’s account and is not known there yet.',
  OTHER: 'A code of another version of the gateway; `message` says what it means, and REST shows the code itself.',
});

objectTypeOf('EligibilityReason', reasonSchema, {
  code: { type: ReasonCode, resolve: ({ code }: { code: string }) => knownReasonCode(code) },
});

const EligibilityRef = objectTypeOf('Eligibility', eligibilitySchema, { manufacturer: manufacturerOverride });

const EligibilitySummary = objectTypeOf('EligibilitySummary', eligibilitySummarySchema);
schemaBuilder.objectField(FleetRef, 'eligibilitySummary', (t) =>
  t.field({
    type: EligibilitySummary,
    description: 'How many of its vehicles have each status.',
    resolve: resolvePlannedField,
  }),
);

schemaBuilder.queryField('eligibility', (t) =>
  t.field({
    type: EligibilityRef,
    nullable: true,
    description: 'The eligibility of a vehicle by its VIN. Errors: VEHICLE_NOT_FOUND.',
    args: { vin: t.arg.string({ required: true, description: 'A VIN, in any case, with or without spaces.' }) },
    resolve: resolvePlannedField,
  }),
);

addMutation(
  'verifyEligibility',
  {
    description:
      'Asks the manufacturers again, in the background; what is known stands until then. Errors: VEHICLE_NOT_FOUND, PAYLOAD_TOO_LARGE, VALIDATION_FAILED.',
    input: requestVerificationInput,
    payload: z
      .object({
        eligibilities: z
          .array(eligibilitySchema)
          .describe('What is known now, in the order of `vins`. Follow `eligibilityChanged` for the new answers.'),
      })
      .describe('The vehicles that are being verified again.'),
    change: async (ctx, input) => ({ eligibilities: await requestVerification(ctx, input) }),
  },
  { payload: { eligibilities: { extensions: { size: 'input' } satisfies CostExtension } } },
);

const EligibilityChange = schemaBuilder.objectRef<Vehicle>('EligibilityChange').implement({
  description:
    'A new answer about a vehicle. Select `vehicle { id eligibility { … } }`, and a cache that goes by ids shows the answer wherever the vehicle is shown.',
  fields: (t) => ({
    vehicle: t.field({
      type: VehicleRef,
      description: 'The vehicle, with the new answer in it.',
      resolve: (vehicle) => vehicle,
    }),
    eligibility: t.expose('eligibility', { type: EligibilityRef, description: 'The new answer.' }),
  }),
});

schemaBuilder.subscriptionField('eligibilityChanged', (t) =>
  t.field({
    type: EligibilityChange,
    description:
      'Each new answer about a vehicle of the fleet, or of any fleet of the company. Slow readers get the latest answer of each vehicle. Errors: FLEET_NOT_FOUND.',
    args: { fleetId: t.arg.id({ description: 'Only vehicles of this fleet.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => followEligibilityChanges(ctx, { fleetId }, closed()),
    resolve: (vehicle) => vehicle,
  }),
);
