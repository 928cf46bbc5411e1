import type { z } from 'zod';
import { activationStateSchema } from '../../core/activation/activation.ts';
import { contractFilterSchema, contractSortOrders } from '../../core/contracts/contract.ts';
import { eventFilterSchema } from '../../core/events/events.ts';
import { schemaDescription } from '../../core/fields.ts';
import { fleetFilterSchema, fleetSortOrders } from '../../core/fleets/fleet.ts';
import { activityInput, activityUnitSchema } from '../../core/reads/company.ts';
import { MOST_SEARCH_RESULTS, searchInput } from '../../core/reads/search.ts';
import { actorSchema, reasonCodeSchema } from '../../core/reason.ts';
import { restSortName, restSortsOf, type SortOrders } from '../../core/sql/order.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import { eligibilityStatusSchema, vehicleFilterSchema, vehicleSortOrders } from '../../core/vehicles/vehicle.ts';
import { addModeSchema } from '../../core/vehicles/vin-lists.ts';
import { deliveryStateSchema } from '../../core/webhooks/deliveries.ts';
import { type Json, mapValues } from './json-schema.ts';

/** The groups of operations, in the order of the OpenAPI document. */
export const tags = {
  Fleets: 'A fleet is a named group of vehicles of one company.',
  Vehicles: 'Vehicles are added to a fleet by their VINs, as a JSON list, a CSV file or an Excel workbook.',
  Eligibility: 'Eligibility is the manufacturer’s answer on whether it can deliver data of a vehicle, and how.',
  Imports: 'An import is the upload of a file to a fleet, with its progress, its outcome and its rejected rows.',
  Contracts: 'A contract is the agreement that a vehicle has a pack of data services for a period.',
  Search: 'A search finds fleets, vehicles and contracts by a part of their name or VIN.',
  Manufacturers: 'Manufacturers are recognized by VINs; providers answer about the eligibility of their vehicles.',
  Company: 'The company of the token has totals, counts of events, and a history for people.',
  Events: 'Events are the log of all changes, with their causes. The log can be read, followed and resumed.',
  Webhooks: 'Webhooks deliver events to addresses of the company.',
  Operation: 'Operators use these endpoints: probes, metrics and this document.',
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
  const description = `The order of the list; a leading \`-\` reverses it. ${meanings.join(' ')}`;
  return query('sort', description, oneOf(Object.keys(restSortsOf(orders)), 'createdAt'));
};

/** Comma lists as OpenAPI writes them: `style` form, not exploded. */
const commas = (name: string, description: string, items = text): Json => ({
  ...query(name, `${description} Several are separated by commas.`, { type: 'array', items }),
  style: 'form',
  explode: false,
});

/** Several values for clients that know a parameter with one. */
const several = (name: string, description: string): Json =>
  query(name, `${description} Several are separated by commas.`);

/** Values that may hold commas are repeated parameters. */
export const oneOrMore: Json = { anyOf: [text, { type: 'array', items: text }] };
const repeated = (name: string, description: string): Json =>
  query(name, `${description} The parameter may be repeated.`, oneOrMore);

const meaningOf = ({ shape }: z.ZodObject, name: string) => schemaDescription(shape[name] as z.ZodType) ?? '';

function filter(name: string, schema: z.ZodObject, json = text): Json {
  const { replacedBy } = (schema.shape[name] as z.ZodType).meta() ?? {};
  const meaning = meaningOf(schema, name);
  return replacedBy
    ? { ...query(name, `${meaning} Replaced by \`${replacedBy}\`.`, json), deprecated: true }
    : query(name, meaning, json);
}

export const queryParameters = {
  limit: query(
    'limit',
    `The number of items on the page, ${DEFAULT_PAGE_SIZE} if only \`after\` is given; a page of large items may have fewer. Without \`limit\` and \`after\`, the whole list is sent.`,
    { type: 'integer', format: 'int32', minimum: 1, maximum: MAX_PAGE_SIZE },
  ),
  after: query(
    'after',
    'The cursor after which the page begins, from the `Link` of the page before. Only `/events` can be followed in this way: ' +
      'in other lists, items that are added meanwhile may come before it.',
  ),
  mode: query(
    'mode',
    'The treatment of valid VINs when others are rejected: `partial` stores the valid ones, `atomic` stores nothing.',
    oneOf(addModeSchema.options, 'partial'),
  ),
  dryRun: query('dryRun', 'True for a dry run, which reports what would be added and stores nothing.', {
    type: 'boolean',
    default: false,
  }),
  dryRunContracts: query('dryRun', 'True for a dry run, which checks everything, warns, and stores nothing.', {
    type: 'boolean',
    default: false,
  }),
  fleetId: query(
    'fleetId',
    'The id of the fleet, for a body that is the file itself, or a client that cannot send the form field before the file.',
  ),
  column: query(
    'column',
    'The name of the column that holds the VINs, as the file has it, regardless of case; by default the column is found by its name or its VINs.',
  ),
  importId: query(
    'importId',
    'The id of the new import, a UUID of your choice. With it you can follow the import before the upload, and safely send the file again.',
    { type: 'string', format: 'uuid' },
  ),
  conditions: query(
    'conditions',
    'The company whose contracts to list, as a URL-encoded JSON object: `{"company":"acme"}`.',
    { type: 'string', contentMediaType: 'application/json' },
    '{"company":"acme"}',
  ),
  fleetName: filter('name', fleetFilterSchema, line),
  fleetVat: filter('vat', fleetFilterSchema, line),
  searchText: query('q', meaningOf(searchInput, 'text'), { type: 'string', minLength: 1, maxLength: 255 }, 'berlin'),
  searchLimit: query('limit', 'The largest number of search results.', {
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
    meaningOf(vehicleFilterSchema, 'eligibility'),
    oneOf(eligibilityStatusSchema.options),
  ),
  vehicleManufacturer: filter('manufacturer', vehicleFilterSchema),
  vehicleVin: filter('vin', vehicleFilterSchema),
  vehicleFleetId: commas('fleetId', meaningOf(vehicleFilterSchema, 'fleetIds')),
  reasonCode: filter('reasonCode', vehicleFilterSchema),
  reasonActor: filter('actor', vehicleFilterSchema, oneOf(actorSchema.options)),
  verifiedBefore: filter('verifiedBefore', vehicleFilterSchema, time),
  verifiedAfter: filter('verifiedAfter', vehicleFilterSchema, time),
  contractStatus: several('status', meaningOf(contractFilterSchema, 'statuses')),
  activationState: commas(
    'activation',
    meaningOf(contractFilterSchema, 'activation'),
    oneOf(activationStateSchema.options),
  ),
  activationReason: commas(
    'activationReason',
    meaningOf(contractFilterSchema, 'activationReason'),
    oneOf(reasonCodeSchema.options),
  ),
  contractPack: repeated('pack', meaningOf(contractFilterSchema, 'packs')),
  contractVin: filter('vin', contractFilterSchema),
  contractFleetId: several('fleetId', meaningOf(contractFilterSchema, 'fleetIds')),
  contractName: filter('name', contractFilterSchema, line),
  activityFrom: query('from', meaningOf(activityInput, 'from'), time, '2026-11-01T00:00:00Z'),
  activityTo: query('to', meaningOf(activityInput, 'to'), time),
  activityBy: query('by', meaningOf(activityInput, 'by'), oneOf(activityUnitSchema.options, 'DAY')),
  eventHistory: filter('historyId', eventFilterSchema),
  eventType: several('type', meaningOf(eventFilterSchema, 'types')),
  eventFleetId: filter('fleetId', eventFilterSchema),
  eventVin: filter('vin', eventFilterSchema),
  eventFrom: filter('from', eventFilterSchema, time),
  eventTo: filter('to', eventFilterSchema, time),
  since: filter('since', eventFilterSchema, time),
  until: filter('until', eventFilterSchema, time),
  deliveryState: query('state', 'The state of the deliveries to list.', oneOf(deliveryStateSchema.options)),
} satisfies Record<string, Json>;

export type QueryParameter = keyof typeof queryParameters;

/** Parameters in paths, without a format: a malformed id is answered with 404 like an unknown one. */
const pathParameters = {
  fleetId: 'The id of the fleet.',
  vehicleId: 'The id of the vehicle.',
  id: 'The id of the resource, as in the answer that created it.',
  deliveryId: 'The id of the delivery.',
  vin: 'The VIN of the vehicle. Case, spaces and dashes are ignored.',
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
  'If-Match':
    'The `ETag` that the resource must still have, else the change is rejected with 412. Several are separated by commas; `*` is any.',
  'If-None-Match':
    'The `ETag` for which the answer is 304 if the resource still has it. Several are separated by commas; `*` is any.',
};

export const headerParameters: Readonly<Record<string, Json>> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your choice, such as a UUID, that makes it safe to repeat the request: for 24 hours, the same request with ' +
      'the same key has no second effect and gets the first answer, also an error (except 401, 403, 429 and 5xx). Each new ' +
      'request needs a new key. Without a token, a key counts for the very same request only.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e][\\x20-\\x7e]{0,254}$' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description: 'The time to wait for an answer before 409 is sent, in seconds, at most 30 (RFC 7240): `wait=10`.',
    schema: text,
  },
  ...mapValues(tagHeaders, (description, name) => {
    return { name, in: 'header', required: false, description, schema: { type: 'string', maxLength: 4096 } };
  }),
};
