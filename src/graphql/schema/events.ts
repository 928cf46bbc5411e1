import type { GraphQLResolveInfo } from 'graphql';
import { type Event, event, eventFilter, eventVehicle } from '../../core/events/event.ts';
import { countEvents, getEvent, listEvents, readEventPage } from '../../core/events/events.ts';
import { EVENT_VEHICLES } from '../../core/events/record-events.ts';
import type { EventSubject } from '../../core/events/timelines.ts';
import { meaningOf } from '../../core/fields.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import type { Cost } from '../execution/cost.ts';
import { itemsOf } from '../execution/selection.ts';
import { builder } from './builder.ts';
import { addById, connect, connectionType, pageArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { inputOf, objectOf } from './described.ts';
import { FleetRef } from './fleets.ts';
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

/** They are up to a thousand of each event: nobody reads them for nothing. */
const asksForVehicles = (info: GraphQLResolveInfo): boolean =>
  'vehicles' in itemsOf<Event>(info, { every: { vehicles: true } });

const EventFilter = inputOf('EventFilter', eventFilter);

builder.queryField('events', (t) =>
  t.field({
    type: EventConnection,
    description:
      'What happened in the company, oldest first. Reading on from the last event you know misses none. Errors: VALIDATION_FAILED (`after` is no longer kept).',
    args: { ...pageArgs, filter: t.arg({ type: EventFilter, description: 'Only events that fit all of this.' }) },
    resolve(_root, { filter, ...args }, { ctx }, info) {
      const vehicles = asksForVehicles(info);
      return connect(
        readEventPage(args),
        (page) => listEvents(ctx, { page, filter, vehicles }),
        () => countEvents(ctx, filter),
      );
    },
  }),
);

addById('event', EventRef, 'One event, as long as it is kept. Errors: NOT_FOUND.', getEvent);

/** The history of one thing, as a field of it. */
function addTimeline(
  ref: typeof FleetRef | typeof VehicleRef | typeof ContractRef,
  subject: EventSubject,
  what: string,
) {
  builder.objectField(ref as typeof FleetRef, 'timeline', (t) =>
    t.field({
      type: EventConnection,
      description: `What happened to ${what}, oldest first; \`last\` gives the latest.`,
      args: { ...pageArgs, filter: t.arg({ type: EventFilter, description: 'Only events that fit all of this.' }) },
      resolve({ id }, { filter, ...args }, { loaders }, info) {
        const vehicles = asksForVehicles(info);
        return connect(
          readEventPage(args),
          (page) => loaders.timeline(id, { subject, page, filter, vehicles }),
          () => loaders.countTimeline(id, { subject, filter }),
        );
      },
    }),
  );
}

addTimeline(FleetRef, 'fleet', 'this fleet, its vehicles and their contracts');
addTimeline(VehicleRef, 'vehicle', 'this vehicle and its contracts');
addTimeline(ContractRef, 'contract', 'this contract');

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
