import type { z } from 'zod';
import { activationStateSchema } from '../../core/contracts/activation.ts';
import { contractFilterSchema, contractSortOrders, contractStatusSchema } from '../../core/contracts/contract.ts';
import { schemaDescription } from '../../core/fields.ts';
import { fleetFilterSchema, fleetSortOrders } from '../../core/fleets/fleet.ts';
import { activityInput, activityUnitSchema } from '../../core/reads/company.ts';
import { MOST_SEARCH_RESULTS, searchInput } from '../../core/reads/search.ts';
import { actorSchema } from '../../core/reason.ts';
import { restSortName, restSortsOf, type SortOrders } from '../../core/sql/order.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import { eligibilityStatusSchema, vehicleFilterSchema, vehicleSortOrders } from '../../core/vehicles/vehicle.ts';
import { addModeSchema } from '../../core/vehicles/vin-lists.ts';
import { deliveryStateSchema } from '../../core/webhooks/deliveries.ts';
import { type Json, mapValues } from './json-schema.ts';

/** The groups of operations, in the order of the OpenAPI document. */
export const tags = {
  Fleets: 'A fleet is a group of vehicles of one company.',
  Vehicles: 'Vehicles are added to a fleet by their VIN, as a JSON list or as a CSV file.',
  Eligibility: 'Whether a vehicle may join its manufacturer’s connected-data program, as the manufacturer says.',
  Imports: 'What became of an uploaded file and its rows.',
  Contracts: 'A contract ties a vehicle of a fleet to a pack of its manufacturer for a period of time.',
  Search: 'Whatever has a text in its name or VIN.',
  Manufacturers: 'Whose vehicles are known, and for which of them eligibility can be asked.',
  Company: 'The company of the token: its totals, and what happened in it as people see it.',
  Events: 'What happened, who did it and what changed: a log that can be read, followed and resumed.',
  Webhooks: 'Events, delivered to an address of yours.',
  Operation: 'For those who run the service.',
} as const;

export type Tag = keyof typeof tags;

const text: Json = { type: 'string' };
const line: Json = { type: 'string', maxLength: 255 };
const time: Json = { type: 'string', format: 'date-time' };
const oneOf = (values: readonly string[], usual?: string): Json => ({
  type: 'string',
  enum: values,
  ...(usual && { default: usual }),
});

// Only required parameters have an example: the reference page would send those of others.
const query = (name: string, description: string, schema = text, example?: string): Json => ({
  name,
  in: 'query',
  required: example !== undefined,
  description,
  schema,
  ...(example && { example }),
});

const sort = (orders: SortOrders): Json => {
  const meanings = Object.entries(orders).map(([name, { meaning }]) => `\`${restSortName(name)}\`: ${meaning}`);
  const description = `How the list is sorted; with \`-\` the other way round. ${meanings.join(' ')}`;
  return query('sort', description, oneOf(Object.keys(restSortsOf(orders)), 'createdAt'));
};

/** Comma lists as OpenAPI writes them: `style` form, not exploded. */
const commas = (name: string, description: string, items = text): Json => ({
  ...query(name, description, { type: 'array', items }),
  style: 'form',
  explode: false,
});

const meaningOf = ({ shape }: z.ZodObject, name: string) => schemaDescription(shape[name] as z.ZodType) ?? '';

const filter = (items: string, name: string, schema: z.ZodObject, json = text): Json => {
  const meaning = meaningOf(schema, name).replace(/^./, (letter) => letter.toLowerCase());
  return query(name, `Only ${items} ${meaning}`, json);
};

export const queryParameters = {
  limit: query(
    'limit',
    `Items of the page, ${DEFAULT_PAGE_SIZE} if only \`after\` is given; a page of large ones may have fewer. Without \`limit\` and \`after\` the whole list is sent.`,
    { type: 'integer', format: 'int32', minimum: 1, maximum: MAX_PAGE_SIZE },
  ),
  after: query(
    'after',
    'Where the page begins: the cursor in the `Link` of the page before. Only `/events` can be followed so: in other lists ' +
      'what is added meanwhile may stand before a cursor.',
  ),
  mode: query(
    'mode',
    '`partial` stores what is good though other values are rejected. `atomic` stores nothing if any value is rejected.',
    oneOf(addModeSchema.options, 'partial'),
  ),
  dryRun: query('dryRun', 'Reports what would happen and stores nothing.', { type: 'boolean', default: false }),
  fleetId: query(
    'fleetId',
    'The fleet, where the body is the file itself, or where a client cannot send the form field before the file.',
  ),
  importId: query(
    'importId',
    'An id of your choice for the import: it can be followed before the upload, and makes sending the file again safe.',
    { type: 'string', format: 'uuid' },
  ),
  conditions: query(
    'conditions',
    'A JSON object, URL-encoded, with the company whose contracts are wanted.',
    { type: 'string', contentMediaType: 'application/json' },
    '{"company":"acme"}',
  ),
  fleetName: filter('fleets', 'name', fleetFilterSchema, line),
  fleetVat: filter('fleets', 'vat', fleetFilterSchema, line),
  searchText: query('q', meaningOf(searchInput, 'text'), { type: 'string', minLength: 1, maxLength: 255 }, 'berlin'),
  searchLimit: query('limit', 'How many at most.', {
    type: 'integer',
    minimum: 1,
    maximum: MOST_SEARCH_RESULTS,
    default: 10,
  }),
  sortFleets: sort(fleetSortOrders),
  sortVehicles: sort(vehicleSortOrders),
  sortContracts: sort(contractSortOrders),
  vehicleEligibility: commas(
    'eligibility',
    'Only vehicles with one of these statuses: a comma list.',
    oneOf(eligibilityStatusSchema.options),
  ),
  vehicleManufacturer: filter('vehicles', 'manufacturer', vehicleFilterSchema),
  vehicleVin: filter('vehicles', 'vin', vehicleFilterSchema),
  vehicleFleetId: commas('fleetId', 'Only vehicles of one of these fleets: a comma list of at most 1,000.'),
  reasonCode: filter('vehicles', 'reasonCode', vehicleFilterSchema),
  reasonActor: filter('vehicles', 'actor', vehicleFilterSchema, oneOf(actorSchema.options)),
  verifiedBefore: filter('vehicles', 'verifiedBefore', vehicleFilterSchema, time),
  verifiedAfter: filter('vehicles', 'verifiedAfter', vehicleFilterSchema, time),
  contractStatus: filter('contracts', 'status', contractFilterSchema, oneOf(contractStatusSchema.options)),
  contractActivation: commas(
    'activation',
    'Only contracts in one of these states at the manufacturer: a comma list.',
    oneOf(activationStateSchema.options),
  ),
  contractPack: filter('contracts', 'pack', contractFilterSchema),
  contractVin: filter('contracts', 'vin', contractFilterSchema),
  contractFleetId: filter('contracts', 'fleetId', contractFilterSchema),
  contractName: filter('contracts', 'name', contractFilterSchema, line),
  activityFrom: query('from', meaningOf(activityInput, 'from'), time, '2026-11-01T00:00:00Z'),
  activityTo: query('to', meaningOf(activityInput, 'to'), time),
  activityBy: query('by', meaningOf(activityInput, 'by'), oneOf(activityUnitSchema.options, 'DAY')),
  eventHistory: query('historyId', 'Only events of this item of the history.'),
  eventType: query('type', 'Only events of these types: a comma list.'),
  eventFleetId: query('fleetId', 'Only events about this fleet and its vehicles.'),
  eventVin: query('vin', 'Only events about the vehicle with this VIN.'),
  since: query('since', 'Only events from then on.', time),
  until: query('until', 'Only events before then.', time),
  deliveryState: query('state', 'Only deliveries in this state.', oneOf(deliveryStateSchema.options)),
} satisfies Record<string, Json>;

export type QueryParameter = keyof typeof queryParameters;

/** Parameters in paths, without a format: a malformed id is answered with 404 like an unknown one. */
const pathParameters = {
  fleetId: 'The id of the fleet.',
  vehicleId: 'The id of the vehicle.',
  id: 'The id, from the answer that created it.',
  deliveryId: 'The id of the delivery.',
  vin: 'The VIN of the vehicle. Case, spaces and dashes do not count.',
};

export type PathParameter = keyof typeof pathParameters;

export const pathParameter = (name: PathParameter): Json => ({
  name,
  in: 'path',
  required: true,
  description: pathParameters[name],
  schema: text,
  example: name === 'vin' ? 'WBA3A5C50CF256985' : '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b',
});

const tagHeaders = {
  'If-Match': 'Rejects the change with 412 unless the `ETag` is this one; a comma list of several, or `*`.',
  'If-None-Match': 'Answers 304 if the `ETag` is still this one; a comma list of several, or `*`.',
};

export const headerParameters: Readonly<Record<string, Json>> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to send the request again: for 24 hours, the same key with the same request gets the first answer, ' +
      'also an error (but for 401, 403, 429 and 5xx), instead of a second effect. Make a new one, such as a UUID, for each ' +
      'new request. Without a token a key counts for the very same request only.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e][\\x20-\\x7e]{0,254}$' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description: '`wait=N` waits up to N seconds, at most 30, for an answer before 409 is sent (RFC 7240): `wait=10`.',
    schema: text,
  },
  ...mapValues(tagHeaders, (description, name) => {
    return { name, in: 'header', required: false, description, schema: { type: 'string', maxLength: 4096 } };
  }),
};
