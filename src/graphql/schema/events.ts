import type { GraphQLResolveInfo } from 'graphql';
import { countEvents, type Event, eventFilter, getEvent, listEvents, readEventPage } from '../../core/events/events.ts';
import { EVENT_VEHICLES } from '../../core/events/record-events.ts';
import type { EventSubject } from '../../core/events/timelines.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import type { Cost } from '../execution/cost.ts';
import { itemsOf } from '../execution/selection.ts';
import { builder } from './builder.ts';
import { connect, connectionType, pageArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { FleetRef } from './fleets.ts';
import { judgedBy } from './validation.ts';
import { VehicleRef } from './vehicles.ts';

const EventVehicle = builder.objectRef<Event['vehicles'][number]>('EventVehicle').implement({
  description: 'A vehicle that an event is about; it may be gone by now.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its id.' }),
    vin: t.exposeString('vin', { description: 'Its VIN.' }),
  }),
});

export const EventRef = builder.objectRef<Event>('Event');

builder.objectType(EventRef, {
  description: 'A fact, as it was when it became true.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; also where to go on from, as `after`, and the `webhook-id`.' }),
    type: t.exposeString('type', { description: 'What happened, such as `eligibility.changed`.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'When.' }),
    company: t.exposeString('company', { description: 'Whose event it is.' }),
    fleetId: t.exposeID('fleetId', { nullable: true, description: 'The fleet it is about, which may be gone by now.' }),
    contractId: t.exposeID('contractId', { nullable: true, description: 'The contract it is about, likewise.' }),
    vehicles: t.expose('vehicles', {
      type: [EventVehicle],
      description: 'The vehicles it is about, at most 1,000, and as many in the cost: more make several events.',
      extensions: { size: EVENT_VEHICLES } satisfies Cost,
    }),
    vehicleCount: t.exposeInt('vehicleCount', { description: 'How many vehicles it is about.' }),
    actor: t.exposeString('actor', {
      description: 'Who did it: the subject of the token, `anonymous` or `system`.',
    }),
    requestId: t.exposeString('requestId', { nullable: true, description: 'The request it happened in, if any.' }),
    data: t.expose('data', { type: 'JSON', description: 'What changed; its members follow from the type.' }),
  }),
});

const EventConnection = connectionType('Event', EventRef);

/** They are up to a thousand of each event: nobody reads them for nothing. */
const asksForVehicles = (info: GraphQLResolveInfo): boolean =>
  'vehicles' in itemsOf<Event>(info, { every: { vehicles: true } });

const EventFilter = builder.inputType('EventFilter', {
  description: 'Which events: those that fit everything that is given.',
  validate: judgedBy(eventFilter),
  fields: (t) => ({
    types: t.stringList({ description: 'Of one of these types.' }),
    fleetId: t.id({ description: 'About this fleet or its vehicles.' }),
    contractId: t.id({ description: 'About this contract.' }),
    vehicleId: t.id({ description: 'About this vehicle.' }),
    vin: t.string({ description: 'About the vehicle with this VIN, also from before it was last added.' }),
    since: t.field({ type: 'DateTime', description: 'From then on.' }),
    until: t.field({ type: 'DateTime', description: 'Before then.' }),
  }),
});

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

builder.queryField('event', (t) =>
  t.field({
    type: EventRef,
    nullable: true,
    description: 'One event, as long as it is kept. Errors: NOT_FOUND.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, { ctx }) => getEvent(ctx, { id }),
  }),
);

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
    resolve: (event) => event,
  }),
);
