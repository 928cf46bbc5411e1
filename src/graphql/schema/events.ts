import { eventDataTypes, eventTypeSchema, fleetChangeSchema, knownEventType } from '../../core/events/event-data.ts';
import { type Event, eventFilterSchema, eventSchema, eventVehicleSchema } from '../../core/events/events.ts';
import { MOST_EVENT_VEHICLES } from '../../core/events/record-events.ts';
import { schemaDescription } from '../../core/fields.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import { type ObjectRef, schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, listArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { enumTypeOf, inputTypeOf, objectTypeOf } from './described.ts';
import { EligibilityStatusRef } from './eligibility.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { PlannedObject } from './planned.ts';
import { VehicleRef } from './vehicles.ts';

export const EventTypeRef = enumTypeOf('EventType', eventTypeSchema, 'What happened.', {
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
  'contract.activated': 'The manufacturer activated the contract.',
  'contract.rejected': 'The manufacturer rejected the contract, or it ended the contract by itself.',
  'contract.deactivated': 'The manufacturer confirmed the end of the contract.',
  'webhook.test': 'A webhook was tested.',
  other: 'A type of another version of the gateway, which REST shows.',
});

/** The field `type` of an event from core. */
export const eventTypeOverride = { type: EventTypeRef, resolve: ({ type }: { type: string }) => knownEventType(type) };

objectTypeOf('FleetChange', fleetChangeSchema);

const MOST_CHANGES = 4;
const except: Readonly<Record<string, object>> = {
  FleetUpdatedData: { changes: { extensions: { size: MOST_CHANGES } satisfies CostExtension } },
  EligibilityChangedData: { fromStatus: { type: EligibilityStatusRef }, toStatus: { type: EligibilityStatusRef } },
};

const EventData = schemaBuilder.unionType('EventData', {
  description: 'What changed, by the type of the event: all four types of contracts have `ContractData`.',
  types: Object.entries(eventDataTypes).map(([name, { schema }]) => objectTypeOf(name, schema, except[name])),
  resolveType: (data) => (data instanceof PlannedObject ? data.type : (data as { __typename: string }).__typename),
});

function dataOf({ type, ...event }: Event): object {
  const fits = ([, { types }]: [string, { types: readonly string[] }]) => types.includes(type);
  const [name] = Object.entries(eventDataTypes).find(fits) ?? ['OtherData'];
  return { __typename: name, ...eventDataTypes[name]?.show(event) };
}

objectTypeOf('EventVehicle', eventVehicleSchema);

const EventRef = objectTypeOf('Event', eventSchema, {
  type: eventTypeOverride,
  requestId: { type: 'String' },
  data: { type: EventData, resolve: dataOf },
  vehicles: {
    description: `${schemaDescription(eventSchema.shape.vehicles)} They count as so many in the cost.`,
    extensions: { size: MOST_EVENT_VEHICLES } satisfies CostExtension,
  },
});

export const EventConnectionRef = connectionType('Event', EventRef);
const EventFilter = inputTypeOf('EventFilter', eventFilterSchema, {
  types: { type: [EventTypeRef] },
});
const args = listArgs('Event', EventFilter);
addListField(
  'events',
  EventConnectionRef,
  'What happened in the company, oldest first. Reading on from the last event you know misses none. Errors: VALIDATION_FAILED (`after` is no longer kept).',
  { args },
);

addByIdField('event', EventRef, 'One event, as long as it is kept. Errors: NOT_FOUND.');

function addTimeline<Thing>(of: ObjectRef<Thing>, what: string): void {
  const description = `What happened to ${what}, oldest first; \`last\` gives the latest.`;
  addListField('timeline', EventConnectionRef, description, { of, args });
}
addTimeline(FleetRef, 'this fleet, its vehicles and their contracts');
addTimeline(VehicleRef, 'this vehicle and its contracts');
addTimeline(ContractRef, 'this contract');

schemaBuilder.subscriptionField('events', (t) =>
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
