import {
  contractChangeSchema,
  contractFieldSchema,
  eventDataTypes,
  eventTypeSchema,
  fleetChangeSchema,
  fleetFieldSchema,
  knownEventType,
} from '../../core/events/event-data.ts';
import { type Event, eventFilterSchema, eventSchema, eventVehicleSchema } from '../../core/events/events.ts';
import { MOST_EVENT_VEHICLES } from '../../core/events/record-events.ts';
import { schemaDescription } from '../../core/fields.ts';
import { followEvents } from '../../core/following/follow-events.ts';
import { type ObjectRef, schemaBuilder } from './builder.ts';
import { addByIdField, addListField, addReadField, connectionType, listArgs } from './connection.ts';
import { ContractRef } from './contracts.ts';
import { enumTypeOf, inputTypeOf, objectTypeOf, unknownIn } from './described.ts';
import { EligibilityStatusRef } from './eligibility.ts';
import { FleetRef } from './fleets.ts';
import { type CostExtension, type OperationExtension, PlannedObject } from './graphql-context.ts';
import { VehicleRef } from './vehicles.ts';

export const EventTypeRef = enumTypeOf(
  'EventType',
  eventTypeSchema,
  'The type of an event: the kind of change that it records.',
  {
    'fleet.created': 'A fleet was created.',
    'fleet.updated': 'Fields of a fleet were changed.',
    'fleet.deleted': 'A fleet was deleted.',
    'vehicle.added': 'Vehicles were added to a fleet.',
    'vehicle.moved': 'Vehicles moved from one fleet to another. Each of the two fleets has an event.',
    'vehicle.removed': 'Vehicles were deleted.',
    'eligibility.changed': 'The eligibility status of a vehicle changed.',
    'import.completed': 'An import stored the vehicles of an uploaded file.',
    'contract.created': 'A contract was created.',
    'contract.updated': 'Fields of a contract changed.',
    'contract.deleted': 'A contract was deleted.',
    'contract.started': 'The period of a contract began.',
    'contract.ended': 'The period of a contract ended.',
    'contract.activated': 'The manufacturer activated a contract.',
    'contract.rejected': 'The manufacturer rejected a contract, or ended one without being asked.',
    'contract.deactivated':
      'A contract that was active is not any more: it is over or deleted, and its end confirmed, or its access was revoked.',
    'contract.failed': 'A contract cannot become active; `reason` says why, and who must act.',
    'webhook.test': 'A webhook was tested.',
    other: unknownIn('A type of event', 'REST names it'),
  },
);

/** The field `type` of an event from core. */
export const eventTypeOverride = { type: EventTypeRef, resolve: ({ type }: { type: string }) => knownEventType(type) };

enumTypeOf('FleetField', fleetFieldSchema, 'A field of a fleet that an event reports as changed.', {
  NAME: 'The name of the fleet.',
  COMPANY_ADDRESS: 'The postal address of the fleet’s company.',
  EMAIL: 'The e-mail address of the person responsible for the fleet.',
  VAT: 'The VAT number of the fleet’s company.',
  OTHER: unknownIn('A field of a fleet', 'REST names it'),
});
objectTypeOf('FleetChange', fleetChangeSchema);

enumTypeOf('ContractField', contractFieldSchema, 'A field of a contract that can be changed.', {
  NAME: 'The name of the contract.',
  DESCRIPTION: 'The purpose of the contract.',
  TO: 'The time at which the contract ends (exclusive).',
  OTHER: 'A field that only another version of the gateway knows; REST shows its name.',
});
objectTypeOf('ContractFieldChange', contractChangeSchema);

const MOST_CHANGES = 4;
const changes = { extensions: { size: MOST_CHANGES } satisfies CostExtension };
const except: Readonly<Record<string, object>> = {
  FleetUpdatedData: { changes },
  ContractUpdatedData: { contractChanges: changes },
  EligibilityChangedData: { fromStatus: { type: EligibilityStatusRef }, toStatus: { type: EligibilityStatusRef } },
};

const EventData = schemaBuilder.unionType('EventData', {
  description:
    'The details of an event, in the type for its kind: events about contracts have `ContractData`, or `ContractUpdatedData` if fields changed.',
  types: Object.entries(eventDataTypes).map(([name, { schema }]) => objectTypeOf(name, schema, except[name])),
  resolveType: (data) => (data instanceof PlannedObject ? data.type : (data as { __typename: string }).__typename),
});

function dataOf({ type, ...event }: Event): object {
  const fits = ([, { types }]: [string, { types: readonly string[] }]) => types.includes(type);
  const [name] = Object.entries(eventDataTypes).find(fits) ?? ['OtherData'];
  return { __typename: name, ...eventDataTypes[name]?.show(event) };
}

objectTypeOf('EventVehicle', eventVehicleSchema, { id: { name: 'vehicleId' } });

const EventRef = objectTypeOf('Event', eventSchema, {
  type: eventTypeOverride,
  requestId: { type: 'String' },
  data: { type: EventData, resolve: dataOf },
  vehicles: {
    description: `${schemaDescription(eventSchema.shape.vehicles)} They count as ${MOST_EVENT_VEHICLES.toLocaleString('en')} objects in the cost.`,
    extensions: { size: MOST_EVENT_VEHICLES } satisfies CostExtension,
  },
});

const of = (what: string) => `The ${what} that the event is about; null if it is about none, or the ${what} is gone.`;
addReadField('fleet', FleetRef, of('fleet'), { of: EventRef, nullable: true });
addReadField('contract', ContractRef, of('contract'), { of: EventRef, nullable: true });

export const EventConnectionRef = connectionType('Event', EventRef, 'events');
const EventFilter = inputTypeOf('EventFilter', eventFilterSchema, {
  types: { type: [EventTypeRef] },
});
const args = listArgs('Event', EventFilter);
addListField(
  'events',
  EventConnectionRef,
  'Lists the events of the company, oldest first. Reading on from the last known event misses none; if that event is no longer kept, the query fails with VALIDATION_FAILED.',
  { args },
);

addByIdField('event', EventRef, 'Returns an event by its id, as long as it is kept.', { errors: ['NOT_FOUND'] });

function addTimeline<Thing>(of: ObjectRef<Thing>, what: string): void {
  const description = `The events about ${what}, oldest first. \`last\` gives the latest.`;
  addListField('timeline', EventConnectionRef, description, { of, args });
}
addTimeline(FleetRef, 'the fleet, its vehicles and their contracts');
addTimeline(VehicleRef, 'the vehicle and its contracts');
addTimeline(ContractRef, 'the contract');

schemaBuilder.subscriptionField('events', (t) =>
  t.field({
    type: EventRef,
    description:
      'Sends each event of the company as it happens. With `after`, it first sends the events since that one, so that a client that lost its connection misses none; an event that is no longer kept is VALIDATION_FAILED.',
    extensions: { errors: ['FLEET_NOT_FOUND', 'VALIDATION_FAILED'] } satisfies OperationExtension,
    args: {
      after: t.arg.string({
        description: 'The id or the cursor of the last known event. By default, events are sent from now on.',
      }),
      filter: t.arg({ type: EventFilter, description: 'Conditions that each event of the stream must meet.' }),
    },
    subscribe: (_root, input, { ctx, closed }) => followEvents(ctx, input, closed()),
    resolve: (one) => one,
  }),
);
