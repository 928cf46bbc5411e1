import { z } from 'zod';
import { eligibilitySummarySchema } from '../../core/fleets/fleet.ts';
import { followEligibilityChanges } from '../../core/following/follow-changes.ts';
import { requestVerification } from '../../core/vehicles/eligibility.ts';
import {
  connectivityStatusSchema,
  dataDeliverySchema,
  eligibilitySchema,
  eligibilityStatusSchema,
  type Vehicle,
  vehicleSchema,
} from '../../core/vehicles/vehicle.ts';
import { requestVerificationInput, vehicleCommands, vehiclesNotFoundSchema } from '../../core/vehicles/vin-lists.ts';
import { schemaBuilder } from './builder.ts';
import { addReadField } from './connection.ts';
import { addMutation, enumTypeOf, objectTypeOf, resultOf } from './described.ts';
import { FleetRef } from './fleets.ts';
import type { OperationExtension } from './graphql-context.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { asManyAsNamed } from './vehicles.ts';

export const EligibilityStatusRef = enumTypeOf(
  'EligibilityStatus',
  eligibilityStatusSchema,
  'The status of a vehicle’s connected-data eligibility: the progress and the outcome of asking its manufacturer.',
  {
    PENDING: 'The manufacturer has not answered about the vehicle yet. The gateway asks it in the background.',
    ELIGIBLE: 'The manufacturer can deliver data of the vehicle.',
    INELIGIBLE: 'The manufacturer cannot deliver data of the vehicle.',
    UNSUPPORTED: 'No configured provider serves the manufacturer, so nobody can be asked about the vehicle.',
    FAILED:
      'The manufacturer gave no answer about the vehicle, and will give none until the party in `reason` acts. The gateway asks again at the re-check, or on request.',
  },
);

enumTypeOf('DataDelivery', dataDeliverySchema, 'A way in which the manufacturer delivers data of a vehicle.', {
  PULL: 'Data of the vehicle is fetched from the manufacturer.',
  PUSH: 'The manufacturer sends data of the vehicle as it arises.',
});

enumTypeOf(
  'ConnectivityStatus',
  connectivityStatusSchema,
  'The state of a vehicle’s connectivity, its own data connection, as its manufacturer reports it.',
  {
    ACTIVATED: 'The connectivity of the vehicle is activated: it can send data to its manufacturer.',
    DEACTIVATED: 'The connectivity of the vehicle is deactivated; its driver or holder can activate it.',
    UNKNOWN: 'The manufacturer does not know whether the vehicle’s connectivity is activated.',
  },
);

const EligibilityRef = objectTypeOf('Eligibility', eligibilitySchema, { manufacturer: manufacturerOverride });

const EligibilitySummary = objectTypeOf('EligibilitySummary', eligibilitySummarySchema);
const counts = 'The number of the fleet’s vehicles in each status of connected-data eligibility.';
addReadField('eligibilitySummary', EligibilitySummary, counts, { of: FleetRef });

const vin = 'The VIN of the vehicle. Case, spaces and dashes are ignored.';
const byVin = 'Returns the connected-data eligibility of a vehicle of the company by its VIN.';
addReadField('eligibility', EligibilityRef, byVin, {
  nullable: true,
  extensions: { errors: ['VEHICLE_NOT_FOUND'] },
  args: schemaBuilder.args((t) => ({ vin: t.string({ required: true, description: vin }) })),
});

addMutation(
  'verifyEligibility',
  {
    ...vehicleCommands.verifyEligibility,
    input: requestVerificationInput,
    payload: resultOf('asking the manufacturers about vehicles again', {
      eligibilities: z
        .array(eligibilitySchema)
        .describe(
          'The present eligibilities, in the order of `ids`, then of `vins`. `eligibilityChanged` sends the new ones.',
        ),
      notFound: vehiclesNotFoundSchema.describe('The ids and VINs of the request that name no vehicle of the company.'),
    }),
    change: requestVerification,
  },
  { payload: { eligibilities: asManyAsNamed } },
);

const eligibilityChange = z
  .object({
    vehicle: vehicleSchema.describe('The vehicle with its new eligibility.'),
    eligibility: eligibilitySchema.describe('The new eligibility of the vehicle.'),
  })
  .describe(
    'A new answer of a manufacturer about a vehicle’s eligibility. With `vehicle { id eligibility { … } }`, clients that cache by ids update every view of the vehicle.',
  );

schemaBuilder.subscriptionField('eligibilityChanged', (t) =>
  t.field({
    type: objectTypeOf('EligibilityChange', eligibilityChange),
    description:
      'Sends each new answer about the eligibility of a vehicle, of one fleet or of the whole company. A slow reader gets the latest answer about each vehicle only.',
    extensions: { errors: ['FLEET_NOT_FOUND'] } satisfies OperationExtension,
    args: { fleetId: t.arg.id({ description: 'The id of the fleet whose vehicles are meant.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => followEligibilityChanges(ctx, { fleetId }, closed()),
    resolve: (vehicle: Vehicle) => ({ vehicle, eligibility: vehicle.eligibility }),
  }),
);
