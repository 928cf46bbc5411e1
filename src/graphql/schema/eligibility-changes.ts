import { eligibilityChanges } from '../../core/following/subscriptions.ts';
import type { Vehicle } from '../../core/vehicles/vehicle.ts';
import { builder } from './builder.ts';
import { EligibilityRef } from './eligibility.ts';
import { VehicleRef } from './vehicles.ts';

const EligibilityChange = builder.objectRef<Vehicle>('EligibilityChange').implement({
  description:
    'A new answer about a vehicle. Select `vehicle { id eligibility { … } }`, and a cache that goes by ids shows the answer wherever the vehicle is shown.',
  fields: (t) => ({
    vehicle: t.field({
      type: VehicleRef,
      description: 'The vehicle, with the new answer in it.',
      resolve: (vehicle) => vehicle,
    }),
    eligibility: t.field({
      type: EligibilityRef,
      description: 'The new answer.',
      resolve: (vehicle) => vehicle.eligibility,
    }),
  }),
});

builder.subscriptionField('eligibilityChanged', (t) =>
  t.field({
    type: EligibilityChange,
    description:
      'Each new answer about a vehicle of the fleet, or of any fleet of the company. Slow readers get the latest answer of each vehicle. Errors: FLEET_NOT_FOUND.',
    args: { fleetId: t.arg.id({ description: 'Only vehicles of this fleet.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => eligibilityChanges(ctx, { fleetId }, closed()),
    resolve: (vehicle) => vehicle,
  }),
);
