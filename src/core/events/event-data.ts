import { z } from 'zod';
import { eligibilityStatuses } from '../../entities/fleet.ts';
import { exampleIds, field, timeField, uuidField } from '../fields.ts';
import { reasonSchema } from '../reason.ts';
import type { ResourceField, UnionField, UnionFieldMember, ValueField } from '../sql/resource.ts';
import { jsonSql, reasonJsonMembers } from '../sql/selection.ts';

const fleetName = field(z.string(), 'The name of the fleet.', 'Berlin');
const importId = uuidField('The id of the import of a file of VINs.', exampleIds.import);
const status = z.enum(eligibilityStatuses);
const changedTexts = (object: string) => ({
  from: field(z.string(), `The text of the ${object}’s field before the change.`, 'Berlin'),
  to: field(z.string(), `The text of the ${object}’s field after the change.`, 'Hamburg'),
});
const changesOf = (object: string) =>
  z
    .record(z.string(), z.object(changedTexts(object)))
    .describe('The changed fields by their names, each with its old and its new value.');

const contract = z
  .object({
    name: field(z.string(), 'The name of the contract.', 'Driving log 2026'),
    pack: field(z.string(), 'The contract’s pack of data services.', 'driving-log'),
    from: timeField('The time at which the contract begins (inclusive).', '2026-01-01T00:00:00.000Z'),
    to: timeField('The time at which the contract ends (exclusive).', '2027-01-01T00:00:00.000Z'),
    manufacturer: z.string().nullish().describe('The id of the vehicle’s manufacturer (`bmw`); null if unknown.'),
    reason: reasonSchema
      .nullish()
      .describe(
        'The reason why the manufacturer rejected, failed or ended the contract; null without one and in other events.',
      ),
  })
  .describe('The details of an event about a contract.');

/** The data of each type of event, as REST and webhooks write it. Subscribers branch on types, which never change. */
export const eventDataSchemas = {
  'fleet.created': z
    .object({
      name: fleetName,
      companyAddress: field(z.string(), 'The postal address of the fleet’s company.', 'Chausseestr. 1, 10115 Berlin'),
      email: field(z.string(), 'The e-mail address of the person responsible for the fleet.', 'fleet@example.com'),
      vat: field(z.string(), 'The VAT number of the fleet’s company.', 'DE123456789'),
    })
    .describe('The details of an event: the fields of the fleet that was created.'),
  'fleet.updated': z
    .object({ changes: changesOf('fleet') })
    .describe('The details of an event: the fields of a fleet that were changed.'),
  'fleet.deleted': z
    .object({ name: fleetName, vehicleCount: field(z.int(), 'The number of vehicles that the deleted fleet had.', 12) })
    .describe('The details of an event: the fleet that was deleted.'),
  'vehicle.added': z
    .object({ importId: importId.optional().describe('The id of the import that added the vehicles, if one did.') })
    .describe('The details of an event: the import that added vehicles to a fleet, if one did.'),
  'vehicle.moved': z
    .object({
      from: uuidField('The id of the fleet that the vehicles left.', exampleIds.fleet),
      to: uuidField('The id of the fleet that the vehicles joined.', exampleIds.fleet),
    })
    .describe('The details of an event: the two fleets between which vehicles were moved.'),
  'vehicle.removed': z.object({}).describe('No details: the vehicles stand in the event itself.'),
  'eligibility.changed': z
    .object({
      from: field(status, 'The eligibility status of the vehicle before the change.', 'PENDING'),
      to: field(status, 'The eligibility status of the vehicle after the change.', 'ELIGIBLE'),
      manufacturer: field(
        z.string().nullable(),
        'The id of the manufacturer that answered about the vehicle, such as `bmw`; null if the VIN names no known one.',
        'bmw',
      ),
      reason: field(reasonSchema.nullable(), 'The reason for the new eligibility status; null if eligible.', null),
    })
    .describe('The details of an event: the change of a vehicle’s eligibility status.'),
  'import.completed': z
    .object({
      importId,
      fileName: field(z.string().nullable(), 'The name of the uploaded file, if one was sent.', 'vins.csv').optional(),
      received: field(z.int(), 'The number of rows in the uploaded file.', 3),
      created: field(z.int(), 'The number of vehicles that the import created.', 1),
      existing: field(z.int(), 'The number of rows that repeat another’s VIN, or whose VIN the fleet had.', 1),
      rejected: field(z.int(), 'The number of rows of the file that were rejected.', 1),
    })
    .describe('The details of an event: the outcome of an import, in numbers of rows.'),
  'contract.created': contract,
  'contract.updated': contract
    .omit({ reason: true })
    .extend({ changes: changesOf('contract') })
    .describe('The details of an event: the fields of a contract that were changed, and the contract since.'),
  'contract.deleted': contract,
  'contract.started': contract,
  'contract.ended': contract,
  'contract.activated': contract,
  'contract.rejected': contract,
  'contract.deactivated': contract,
  'contract.failed': contract,
  'webhook.test': z
    .object({ webhookId: uuidField('The id of the webhook that was tested.', exampleIds.webhook) })
    .describe('The details of an event: the webhook that was tested.'),
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
const nameSql = (type: string) => `upper(replace(${knownEventTypeSql(type)}, '.', '_') collate "C")`;
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

type Names = Readonly<Record<string, string>>;

interface EventDataType extends UnionFieldMember {
  types: readonly EventType[];
  schema: z.ZodObject;
  /** The object of an event in memory. */
  show(event: Recorded): object;
}

/** The type for events of these types; `names` renames members, since a union has one type for fields of one name. */
function dataOf(types: readonly [EventType, ...EventType[]], names: Names = {}): EventDataType {
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

// Fields as REST names them, by their names in GraphQL.
const fleetFields = { name: 'NAME', companyAddress: 'COMPANY_ADDRESS', email: 'EMAIL', vat: 'VAT' };
const contractFields = { name: 'NAME', description: 'DESCRIPTION', to: 'TO' };
export const fleetFieldSchema = z.enum([...Object.values(fleetFields), 'OTHER']);
export const contractFieldSchema = z.enum([...Object.values(contractFields), 'OTHER']);

const changeOf = (object: string, changedField: z.ZodType) =>
  z
    .object({ field: field(changedField, `The field of the ${object} that was changed.`, 'NAME') })
    .extend(changedTexts(object))
    .describe(`The change of one field of a ${object}: its text before and after.`);
export const fleetChangeSchema = changeOf('fleet', fleetFieldSchema);
export const contractChangeSchema = changeOf('contract', contractFieldSchema);

const changed = (name: string) => ({ sql: `coalesce((c.change -> '${name}')::text, 'null')` });

/** The type for changes of an object's fields: a list, `shown` by this name. */
function changedDataOf(object: 'fleet' | 'contract', shown: string, fields: Names, change: z.ZodType): EventDataType {
  const data = dataOf([`${object}.updated`], { changes: shown });
  const texts = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, JSON.stringify(one)]));
  return {
    ...data,
    schema: data.schema
      .extend({ [shown]: z.array(change).describe(`The changes to the ${object}, one for each changed field.`) })
      .describe(data.schema.description ?? ''),
    fields: {
      [shown]: {
        kind: 'rows',
        from: `jsonb_each(e.data -> 'changes') with ordinality c(field, change, n)`,
        order: 'c.n',
        members: { field: jsonSql.oneOf('c.field', texts, '"OTHER"'), from: changed('from'), to: changed('to') },
      },
    },
    show: (event) => ({
      ...data.show(event),
      [shown]: Object.entries(event.data.changes ?? {}).map(([name, one]) => ({
        field: fields[name] ?? 'OTHER',
        ...one,
      })),
    }),
  };
}

const reasonOfEvent: ResourceField = {
  kind: 'object',
  unless: `e.data ->> 'reason' is null`,
  members: reasonJsonMembers(`(e.data -> 'reason')`),
};

/** Types of GraphQL's union by name; the first that fits an event is used. */
export const eventDataTypes: Readonly<Record<string, EventDataType>> = {
  FleetCreatedData: dataOf(['fleet.created']),
  FleetUpdatedData: changedDataOf('fleet', 'changes', fleetFields, fleetChangeSchema),
  FleetDeletedData: dataOf(['fleet.deleted']),
  VehicleAddedData: dataOf(['vehicle.added'], { importId: 'fromImportId' }),
  VehicleMovedData: dataOf(['vehicle.moved'], { from: 'fromFleetId', to: 'toFleetId' }),
  VehicleRemovedData: {
    ...dataOf(['vehicle.removed']),
    schema: z
      .object({ vehicleCount: z.int().describe('The number of vehicles that the event records as deleted.') })
      .describe('The details of an event: the number of vehicles that were deleted.'),
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
      ...(['contract.activated', 'contract.rejected', 'contract.deactivated', 'contract.failed'] as const),
    ]),
    fields: { reason: reasonOfEvent },
  },
  ContractUpdatedData: changedDataOf('contract', 'contractChanges', contractFields, contractChangeSchema),
  WebhookTestData: dataOf(['webhook.test']),
  OtherData: {
    types: [],
    when: 'true',
    schema: z
      .object({ json: z.record(z.string(), z.unknown()).describe('The details of the event as JSON, like in REST.') })
      .describe('The details of an event whose type this version of the gateway does not know, but a newer one does.'),
    members: { json: { sql: 'e.data::text' } },
    show: ({ data }) => ({ json: data }),
  },
};

export const eventDataField: UnionField = { kind: 'union', types: eventDataTypes };
