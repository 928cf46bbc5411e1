import { eventType, eventTypeOf } from '../../core/events/event-types.ts';
import { type Event, event, eventFilter, eventVehicle } from '../../core/events/events.ts';
import { EVENT_VEHICLES } from '../../core/events/record-events.ts';
import { descriptionOf } from '../../core/fields.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addById, connectionType, pageArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { enumOf, inputOf, objectOf } from './described.ts';
import { dataOf, EventData } from './event-data.ts';
import { FleetRef } from './fleet-type.ts';
import { VehicleRef } from './vehicles.ts';

export const EventType = enumOf('EventType', eventType, 'What happened.', {
  'fleet.created': 'A fleet was created.',
  'fleet.updated': 'Fields of a fleet changed.',
  'fleet.deleted': 'A fleet was deleted.',
  'vehicle.added': 'Vehicles were added to a fleet.',
  'vehicle.moved': 'Vehicles moved from one fleet to another: an event of each of the two.',
  'vehicle.removed': 'Vehicles were deleted.',
  'eligibility.changed': 'A manufacturer’s answer about a vehicle is another than before.',
  'import.completed': 'The vehicles of a file were stored.',
  'contract.created': 'A contract was made.',
  'contract.deleted': 'A contract was deleted.',
  'contract.started': 'A contract came into force.',
  'contract.ended': 'A contract ended.',
  'webhook.test': 'A webhook was tested.',
  other: 'A type of another version of the gateway, which REST shows.',
});

objectOf('EventVehicle', eventVehicle);

const EventRef = objectOf('Event', event, {
  type: { type: EventType, resolve: ({ type }: Event) => eventTypeOf(type) },
  requestId: { type: 'String' },
  data: { type: EventData, resolve: dataOf },
  vehicles: {
    description: `${descriptionOf(event.shape.vehicles)} They count as so many in the cost.`,
    extensions: { size: EVENT_VEHICLES } satisfies Cost,
  },
});

export const EventConnection = connectionType('Event', EventRef);

const EventFilter = inputOf('EventFilter', eventFilter, { types: { type: [EventType] } });

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
