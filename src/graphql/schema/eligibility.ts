import { z } from 'zod';
import { requestVerification } from '../../core/vehicles/eligibility.ts';
import {
  actor,
  connectivityStatus,
  dataDelivery,
  eligibility,
  eligibilityStatus,
  reason,
} from '../../core/vehicles/vehicle.ts';
import { requestVerificationInput } from '../../core/vehicles/vin-lists.ts';
import type { Cost } from '../execution/cost.ts';
import { type Planned, read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { enumOf, objectOf } from './described.ts';
import { addManufacturer } from './manufacturers.ts';
import { addMutation } from './mutation.ts';

enumOf('EligibilityStatus', eligibilityStatus, 'How far the verification of a vehicle has come.', {
  PENDING: 'No answer yet. It is asked for in the background, again and again where need be.',
  ELIGIBLE: 'The manufacturer can deliver data of this vehicle.',
  INELIGIBLE: 'The manufacturer cannot deliver data of this vehicle.',
  UNSUPPORTED: 'No configured provider answers for the manufacturer, so nobody can be asked.',
  FAILED:
    'There is no answer and there will be none until somebody acts; `reason` says who. It is not tried again before its re-check.',
});

enumOf('DataDelivery', dataDelivery, 'How data of a vehicle can be had.', {
  PULL: 'The data is fetched.',
  PUSH: 'The data is sent as it comes up.',
});

enumOf('ConnectivityStatus', connectivityStatus, 'Whether the vehicle is connected, as its manufacturer says.', {
  ACTIVATED: 'Connected.',
  DEACTIVATED: 'Not connected; it may be activated.',
  UNKNOWN: 'The manufacturer does not know.',
});

enumOf('ReasonActor', actor, 'Who must act for a verification to succeed.', {
  CUSTOMER: 'The owner of the fleet.',
  MANUFACTURER: 'The manufacturer, or its provider.',
  OPERATOR: 'Who runs this gateway.',
});

objectOf('EligibilityReason', reason);

export const EligibilityRef = objectOf('Eligibility', eligibility, { manufacturer: false });

addManufacturer(EligibilityRef, eligibility);

const statuses = {
  pending: 'Vehicles without an answer yet.',
  eligible: 'Vehicles whose data can be had.',
  ineligible: 'Vehicles whose data cannot be had.',
  unsupported: 'Vehicles nobody can be asked about.',
  failed: 'Vehicles whose verification needs somebody to act.',
};

export const EligibilitySummary = builder.objectRef<Planned>('EligibilitySummary').implement({
  description: 'How many vehicles of a fleet have each status.',
  fields: (t) =>
    Object.fromEntries(
      Object.entries(statuses).map(([name, description]) => [name, t.int({ description, resolve: read })]),
    ),
});

builder.queryField('eligibility', (t) =>
  t.field({
    type: EligibilityRef,
    nullable: true,
    description: 'The eligibility of a vehicle by its VIN. Errors: VEHICLE_NOT_FOUND.',
    args: { vin: t.arg.string({ required: true, description: 'A VIN, in any case, with or without spaces.' }) },
    resolve: read,
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
          .array(eligibility)
          .describe('What is known now, in the order of `vins`. Follow `eligibilityChanged` for the new answers.'),
      })
      .describe('The vehicles that are being verified again.'),
    change: async (ctx, input) => ({ eligibilities: await requestVerification(ctx, input) }),
  },
  { payload: { eligibilities: { extensions: { size: 'input' } satisfies Cost } } },
);
