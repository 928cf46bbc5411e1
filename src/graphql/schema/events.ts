import { event, eventFilter, eventVehicle } from '../../core/events/events.ts';
import { EVENT_VEHICLES } from '../../core/events/record-events.ts';
import { meaningOf } from '../../core/fields.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addById, connectionType, pageArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { inputOf, objectOf } from './described.ts';
import { FleetRef } from './fleet-type.ts';
import { VehicleRef } from './vehicles.ts';

objectOf('EventVehicle', eventVehicle);

export const EventRef = objectOf('Event', event, {
  requestId: { type: 'String' },
  vehicles: {
    description: `${meaningOf(event.shape.vehicles)} They count as so many in the cost.`,
    extensions: { size: EVENT_VEHICLES } satisfies Cost,
  },
});

const EventConnection = connectionType('Event', EventRef);

const EventFilter = inputOf('EventFilter', eventFilter);

builder.queryField('events', (t) =>
  t.field({
    type: EventConnection,
    description:
      'What happened in the company, oldest first. Reading on from the last event you know misses none. Errors: VALIDATION_FAILED (`after` is no longer kept).',
    args: { ...pageArgs, filter: t.arg({ type: EventFilter, description: 'Only events that fit all of this.' }) },
    resolve: read,
  }),
);

addById('event', EventRef, 'One event, as long as it is kept. Errors: NOT_FOUND.');

/** The history of one thing, as a field of it. */
function addTimeline(ref: typeof FleetRef | typeof VehicleRef | typeof ContractRef, what: string) {
  builder.objectField(ref as typeof FleetRef, 'timeline', (t) =>
    t.field({
      type: EventConnection,
      description: `What happened to ${what}, oldest first; \`last\` gives the latest.`,
      args: { ...pageArgs, filter: t.arg({ type: EventFilter, description: 'Only events that fit all of this.' }) },
      resolve: read,
    }),
  );
}

addTimeline(FleetRef, 'this fleet, its vehicles and their contracts');
addTimeline(VehicleRef, 'this vehicle and its contracts');
addTimeline(ContractRef, 'this contract');

builder.subscriptionField('events', (t) =>
  t.field({
    type: EventRef,
    description:
      'Each event of the company as it happens. With `after`, first those since that event: whoever lost the connection and names the last event it got misses none. Errors: VALIDATION_FAILED (`after` is no longer kept), FLEET_NOT_FOUND.',
    args: {
      after: t.arg.string({ description: 'The id (or cursor) of the last event you know. By default: from now on.' }),
      filter: t.arg({ type: EventFilter, description: 'Only events that fit all of this.' }),
    },
    subscribe: (_root, input, { ctx, closed }) => followEvents(ctx, input, closed()),
    resolve: (one) => one,
  }),
);
