import { z } from 'zod';
import { eligibilityStatuses } from '../../entities/fleet.ts';
import { exampleIds, field, timeField, uuidField } from '../fields.ts';
import { reasonJsonMembers, reasonSchema } from '../reason.ts';
import type { ResourceField, UnionField, UnionFieldMember, ValueField } from '../sql/resource.ts';
import { jsonSql } from '../sql/selection.ts';

const fleetName = field(z.string(), 'The name of the fleet.', 'Berlin');
const importId = uuidField('The import of the file.', exampleIds.import);
const status = z.enum(eligibilityStatuses);

const contract = z
  .object({
    name: field(z.string(), 'Its name.', 'Driving log 2026'),
    pack: field(z.string(), 'Its pack.', 'driving-log'),
    from: timeField('When it begins.', '2026-01-01T00:00:00.000Z'),
    to: timeField('When it ends.', '2027-01-01T00:00:00.000Z'),
    reason: reasonSchema
      .nullish()
      .describe('Of `contract.activated`, `rejected` and `deactivated`: the reason for its state at the manufacturer.'),
  })
  .describe('The contract.');

/** The data of each type of event, as REST and webhooks write it. Subscribers branch on types, which never change. */
export const eventDataSchemas = {
  'fleet.created': z
    .object({
      name: fleetName,
      companyAddress: field(z.string(), 'The address.', 'Chausseestr. 1, 10115 Berlin'),
      email: field(z.string(), 'The e-mail address.', 'fleet@example.com'),
      vat: field(z.string(), 'The VAT number.', 'DE123456789'),
    })
    .describe('The fleet as it was created.'),
  'fleet.updated': z
    .object({
      changes: z
        .record(z.string(), z.object({ from: z.string(), to: z.string() }))
        .describe('Fields by their names, with what they were and what they are.'),
    })
    .describe('What changed of a fleet.'),
  'fleet.deleted': z
    .object({ name: fleetName, vehicleCount: field(z.int(), 'How many vehicles it had.', 12) })
    .describe('The fleet as it was.'),
  'vehicle.added': z.object({ importId: importId.optional() }).describe('Where the vehicles came from.'),
  'vehicle.moved': z
    .object({
      from: uuidField('The fleet that they were in.', exampleIds.fleet),
      to: uuidField('The fleet that they are in.', exampleIds.fleet),
    })
    .describe('Between which fleets the vehicles moved.'),
  'vehicle.removed': z.object({}).describe('Nothing but the vehicles of the event.'),
  'eligibility.changed': z
    .object({
      from: field(status, 'The status before.', 'PENDING'),
      to: field(status, 'The status from then on.', 'ELIGIBLE'),
      manufacturer: field(z.string().nullable(), 'The maker that answered: its slug.', 'bmw'),
      reason: field(reasonSchema.nullable(), 'Why the status is what it is.', null),
    })
    .describe('Between which statuses the eligibility of a vehicle changed.'),
  'import.completed': z
    .object({
      importId,
      fileName: field(z.string().nullable(), 'The name of the file, where one was sent.', 'vins.csv').optional(),
      received: field(z.int(), 'Rows of the file.', 3),
      created: field(z.int(), 'New vehicles.', 1),
      existing: field(z.int(), 'Rows whose vehicle the fleet had.', 1),
      rejected: field(z.int(), 'Rows that were rejected.', 1),
    })
    .describe('The rows of a file in numbers.'),
  'contract.created': contract,
  'contract.deleted': contract,
  'contract.started': contract,
  'contract.ended': contract,
  'contract.activated': contract,
  'contract.rejected': contract,
  'contract.deactivated': contract,
  'webhook.test': z
    .object({ webhookId: uuidField('The webhook.', exampleIds.webhook) })
    .describe('The webhook that was tested.'),
} as const satisfies Record<string, z.ZodObject>;

export type EventType = keyof typeof eventDataSchemas;
export const eventTypes = Object.keys(eventDataSchemas) as [EventType, ...EventType[]];

const OTHER = 'other';
/** Types as an enumeration. Another version of the gateway may have recorded one that this version does not know. */
export const eventTypeSchema = z.enum([...eventTypes, OTHER]);
export const knownEventType = (type: string) => eventTypeSchema.catch(OTHER).parse(type);

const known = eventTypes.map((type) => `'${type}'`);
/** A type in a column, as an eventTypeSchema has it. */
export const knownEventTypeSql = (type: string) => `case when ${type} in (${known}) then ${type} else '${OTHER}' end`;
/** `FLEET_CREATED` for `fleet.created`. */
const nameSql = (type: string) => `upper(replace(${knownEventTypeSql(type)}, '.', '_'))`;
const typeOf = (name: string) => name.toLowerCase().replaceAll('_', '.');

/** A type in a column, by its name in GraphQL. */
export const eventTypeField = (column: string): ValueField => ({
  kind: 'value',
  value: { sql: nameSql(column), bare: true },
  make: typeOf,
  isText: true,
});

export const eventTypesField = (column: string): ValueField => ({
  kind: 'value',
  value: { sql: `(select coalesce(json_agg(${nameSql('t')}), '[]') from unnest(${column}) t)` },
  make: (names: string[]) => names.map(typeOf),
  isText: true,
});

type Recorded = { data: Readonly<Record<string, unknown>>; vehicleCount: number };

interface EventDataType extends UnionFieldMember {
  types: readonly EventType[];
  schema: z.ZodObject;
  /** The object of an event in memory. */
  show(event: Recorded): object;
}

/** The type for events of these types; `names` renames members, since a union has one type for fields of one name. */
function dataOf(types: readonly [EventType, ...EventType[]], names: Record<string, string> = {}): EventDataType {
  const { shape, description = '' } = eventDataSchemas[types[0]] as z.ZodObject;
  const members = Object.entries(shape as Record<string, z.ZodType>).map(([name, schema]) => ({
    name,
    shown: names[name] ?? name,
    schema: schema instanceof z.ZodOptional ? schema.nullish() : schema,
  }));
  const object = <T>(make: (member: (typeof members)[number]) => T) =>
    Object.fromEntries(members.map((member) => [member.shown, make(member)]));
  return {
    types,
    when: `e.type in (${types.map((type) => `'${type}'`)})`,
    schema: z.object(object(({ schema }) => schema)).describe(description),
    members: object(({ name }) => ({ sql: `coalesce((e.data -> '${name}')::text, 'null')` })),
    show: ({ data }) => object(({ name }) => data[name] ?? null),
  };
}

export const fleetChangeSchema = z
  .object({
    field: field(z.string(), 'The name of the field.', 'name'),
    from: field(z.string(), 'What it was.', 'Berlin'),
    to: field(z.string(), 'What it is from then on.', 'Hamburg'),
  })
  .describe('A field of a fleet that changed.');

const changed = (name: string) => ({ sql: `coalesce((c.change -> '${name}')::text, 'null')` });

const reasonOfEvent: ResourceField = {
  kind: 'object',
  unless: `e.data ->> 'reason' is null`,
  members: reasonJsonMembers(`(e.data -> 'reason')`),
};

/** Types of GraphQL's union by name; the first that fits an event is used. */
export const eventDataTypes: Readonly<Record<string, EventDataType>> = {
  FleetCreatedData: dataOf(['fleet.created']),
  FleetUpdatedData: {
    ...dataOf(['fleet.updated']),
    schema: z
      .object({ changes: z.array(fleetChangeSchema).describe('Each field that changed.') })
      .describe('What changed of a fleet.'),
    fields: {
      changes: {
        kind: 'rows',
        from: `jsonb_each(e.data -> 'changes') with ordinality c(field, change, n)`,
        order: 'c.n',
        members: { field: jsonSql.text('c.field'), from: changed('from'), to: changed('to') },
      },
    },
    show: ({ data }) => ({ changes: Object.entries(data.changes ?? {}).map(([field, one]) => ({ field, ...one })) }),
  },
  FleetDeletedData: dataOf(['fleet.deleted']),
  VehicleAddedData: dataOf(['vehicle.added'], { importId: 'fromImportId' }),
  VehicleMovedData: dataOf(['vehicle.moved'], { from: 'fromFleetId', to: 'toFleetId' }),
  VehicleRemovedData: {
    ...dataOf(['vehicle.removed']),
    schema: z
      .object({ vehicleCount: z.int().describe('How many vehicles were deleted with this event.') })
      .describe('How many vehicles were deleted.'),
    members: { vehicleCount: jsonSql.number('cardinality(e.vehicle_ids)') },
    show: ({ vehicleCount }) => ({ vehicleCount }),
  },
  EligibilityChangedData: {
    ...dataOf(['eligibility.changed'], { from: 'fromStatus', to: 'toStatus' }),
    fields: { reason: reasonOfEvent },
  },
  ImportCompletedData: dataOf(['import.completed']),
  ContractData: {
    ...dataOf([
      ...(['contract.created', 'contract.deleted', 'contract.started', 'contract.ended'] as const),
      ...(['contract.activated', 'contract.rejected', 'contract.deactivated'] as const),
    ]),
    fields: { reason: reasonOfEvent },
  },
  WebhookTestData: dataOf(['webhook.test']),
  OtherData: {
    types: [],
    when: 'true',
    schema: z
      .object({ json: z.record(z.string(), z.unknown()).describe('As REST shows it.') })
      .describe('The data of an event of type OTHER.'),
    members: { json: { sql: 'e.data::text' } },
    show: ({ data }) => ({ json: data }),
  },
};

export const eventDataField: UnionField = { kind: 'union', types: eventDataTypes };
