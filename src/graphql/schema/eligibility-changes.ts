import { eligibilityChanges } from '../../core/following/subscriptions.ts';
import { type Eligibility, eligibility, type Vehicle } from '../../core/vehicles/vehicle.ts';
import { builder } from './builder.ts';
import { objectOf } from './described.ts';
import { EligibilityRef } from './eligibility.ts';
import { addManufacturer } from './manufacturers.ts';
import { VehicleRef } from './vehicles.ts';

/** A new answer with the vehicle it is about, by whose id caches of clients know what to show anew. */
interface Change extends Eligibility {
  vehicle: Vehicle;
}

const EligibilityChangeRef = objectOf(
  'EligibilityChange',
  eligibility
    .extend({})
    .describe(
      'A new answer about a vehicle. Select `vehicle { id eligibility { … } }`, and a cache that goes by ids shows the answer wherever the vehicle is shown.',
    ),
  { manufacturer: false },
);

addManufacturer(EligibilityChangeRef, eligibility);

builder.objectFields(EligibilityChangeRef, (t) => ({
  vehicle: t.field({
    type: VehicleRef,
    description: 'The vehicle, with the new answer in it.',
    resolve: (change) => (change as Change).vehicle,
  }),
  eligibility: t.field({
    type: EligibilityRef,
    description: 'The new answer, whose fields this type has as well.',
    resolve: (change) => (change as Change).vehicle.eligibility,
  }),
}));

builder.subscriptionField('eligibilityChanged', (t) =>
  t.field({
    type: EligibilityChangeRef,
    description:
      'Each new answer about a vehicle of the fleet, or of any fleet of the company. Slow readers get the latest answer of each vehicle. Errors: FLEET_NOT_FOUND.',
    args: { fleetId: t.arg.id({ description: 'Only vehicles of this fleet.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => eligibilityChanges(ctx, { fleetId }, closed()),
    resolve: (vehicle): Change => ({ ...vehicle.eligibility, vehicle }),
  }),
);
