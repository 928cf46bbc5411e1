import type { z } from 'zod';
import { contractOrders } from '../../core/contracts/contract.ts';
import { descriptionOf } from '../../core/fields.ts';
import { fleetFilter, fleetOrders } from '../../core/fleets/fleet.ts';
import { activityInput, activityUnit } from '../../core/reads/company.ts';
import { FOUND_MOST, searchInput } from '../../core/reads/search.ts';
import { actor } from '../../core/reason.ts';
import { type Orders, sortName, sortsOf } from '../../core/sql/order.ts';
import { PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page-size.ts';
import { eligibilityStatus, vehicleFilter, vehicleOrders } from '../../core/vehicles/vehicle.ts';
import { addMode } from '../../core/vehicles/vin-lists.ts';
import { deliveryState } from '../../core/webhooks/deliveries.ts';
import type { Json } from './json-schema.ts';

const UUID = '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b';

// No examples for what may be left out: pages that let people try things would send them.
const query = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

const sort = (orders: Orders): Json =>
  query('sort', `How the list is sorted; with \`-\` the other way round. ${meaningsOf(orders)}`, {
    type: 'string',
    enum: Object.keys(sortsOf(orders)),
    default: 'createdAt',
  });
const meaningsOf = (orders: Orders) =>
  Object.entries(orders)
    .map(([name, { meaning }]) => `\`${sortName(name)}\`: ${meaning}`)
    .join(' ');

/** Comma lists as OpenAPI writes them: `style` form, not exploded. */
const commas = (name: string, description: string, items: Json): Json => ({
  ...query(name, description, { type: 'array', items }),
  style: 'form',
  explode: false,
});

const { manufacturer, vin: partOfVin, reasonCode, actor: ofActor, verifiedBefore, verifiedAfter } = vehicleFilter.shape;
const meaning = (schema: z.ZodType, what = 'vehicles') => `Only ${what} ${lowerFirst(descriptionOf(schema) ?? '')}`;
const lowerFirst = (text: string) => text.replace(/^./, (letter) => letter.toLowerCase());

/** Every query parameter there is. */
export const queryParameters = {
  limit: query(
    'limit',
    `Items of the page, ${PAGE_DEFAULT} if only \`after\` is given; a page of large ones may have fewer. Without \`limit\` and \`after\` the whole list is sent.`,
    { type: 'integer', format: 'int32', minimum: 1, maximum: PAGE_MAX },
  ),
  after: query(
    'after',
    'Where the page begins: the cursor in the `Link` of the page before. Only `/events` can be followed so: in other lists ' +
      'what is added meanwhile may stand before a cursor.',
    { type: 'string' },
  ),
  mode: query(
    'mode',
    '`partial` stores what is good though other values are rejected. `atomic` stores nothing if any value is rejected.',
    { type: 'string', enum: addMode.options, default: 'partial' },
  ),
  dryRun: query('dryRun', 'Reports what would happen and stores nothing.', { type: 'boolean', default: false }),
  fleetId: query(
    'fleetId',
    'The fleet, where the body is the file itself, or where a client cannot send the form field before the file.',
    { type: 'string' },
  ),
  importId: query(
    'importId',
    'An id of your choice for the import: it can be followed before the upload, and makes sending the file again safe.',
    { type: 'string', format: 'uuid' },
  ),
  conditions: {
    ...query('conditions', 'A JSON object, URL-encoded, with the company whose contracts are wanted.', {
      type: 'string',
      contentMediaType: 'application/json',
    }),
    required: true,
    example: '{"company":"acme"}',
  },
  fleetName: query('name', meaning(fleetFilter.shape.name, 'fleets'), { type: 'string', maxLength: 255 }),
  fleetVat: query('vat', meaning(fleetFilter.shape.vat, 'fleets'), { type: 'string', maxLength: 255 }),
  searchText: {
    ...query('q', descriptionOf(searchInput.shape.text) ?? '', { type: 'string', minLength: 1, maxLength: 255 }),
    required: true,
    example: 'berlin',
  },
  searchLimit: query('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: FOUND_MOST, default: 10 }),
  sortFleets: sort(fleetOrders),
  sortVehicles: sort(vehicleOrders),
  sortContracts: sort(contractOrders),
  vehicleEligibility: commas('eligibility', 'Only vehicles with one of these statuses: a comma list.', {
    type: 'string',
    enum: eligibilityStatus.options,
  }),
  vehicleManufacturer: query('manufacturer', meaning(manufacturer), { type: 'string' }),
  vehicleVin: query('vin', meaning(partOfVin), { type: 'string' }),
  vehicleFleetId: commas('fleetId', 'Only vehicles of one of these fleets: a comma list of at most 1,000.', {
    type: 'string',
  }),
  reasonCode: query('reasonCode', meaning(reasonCode), { type: 'string' }),
  reasonActor: query('actor', meaning(ofActor), { type: 'string', enum: actor.options }),
  verifiedBefore: query('verifiedBefore', meaning(verifiedBefore), { type: 'string', format: 'date-time' }),
  verifiedAfter: query('verifiedAfter', meaning(verifiedAfter), { type: 'string', format: 'date-time' }),
  activityFrom: {
    ...query('from', descriptionOf(activityInput.shape.from) ?? '', { type: 'string', format: 'date-time' }),
    required: true,
    example: '2026-11-01T00:00:00Z',
  },
  activityTo: query('to', descriptionOf(activityInput.shape.to) ?? '', { type: 'string', format: 'date-time' }),
  activityBy: query('by', descriptionOf(activityInput.shape.by) ?? '', {
    type: 'string',
    enum: activityUnit.options,
    default: 'DAY',
  }),
  eventHistory: query('historyId', 'Only events of this item of the history.', { type: 'string' }),
  eventType: query('type', 'Only events of these types: a comma list.', { type: 'string' }),
  eventFleetId: query('fleetId', 'Only events about this fleet and its vehicles.', { type: 'string' }),
  eventVin: query('vin', 'Only events about the vehicle with this VIN.', { type: 'string' }),
  since: query('since', 'Only events from then on.', { type: 'string', format: 'date-time' }),
  until: query('until', 'Only events before then.', { type: 'string', format: 'date-time' }),
  deliveryState: query('state', 'Only deliveries in this state.', {
    type: 'string',
    enum: deliveryState.options,
  }),
} satisfies Record<string, Json>;

export type QueryParameter = keyof typeof queryParameters;

/** No format: what cannot be an id is a 404 like any unknown one, not a matter of form. */
const anyId = { type: 'string' };

/** Parameters of paths by name. */
const pathParameters = {
  fleetId: { description: 'The id of the fleet.', schema: anyId, example: UUID },
  vehicleId: { description: 'The id of the vehicle.', schema: anyId, example: UUID },
  id: {
    description: 'The id, from the answer that created it.',
    schema: anyId,
    example: UUID,
  },
  deliveryId: { description: 'The id of the delivery.', schema: anyId, example: UUID },
  vin: {
    description: 'The VIN of the vehicle. Case, spaces and dashes do not count.',
    schema: { type: 'string' },
    example: 'WBA3A5C50CF256985',
  },
};

export type PathParameter = keyof typeof pathParameters;

export const pathParameter = (name: PathParameter): Json => ({
  name,
  in: 'path',
  required: true,
  ...pathParameters[name],
});

export const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again: for 24 hours, the same key with the same request gets the first answer, ' +
    'also an error (but for 401, 403, 429 and 5xx), instead of a second effect. Make a new one, such as a UUID, for each ' +
    'new request. Without a token a key counts for the very same request only.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e][\\x20-\\x7e]{0,254}$' },
};

const tag = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', maxLength: 4096 },
});

export const ifMatch = tag(
  'If-Match',
  'Rejects the change with 412 unless the `ETag` is this one; a comma list of several, or `*`.',
);
export const ifNoneMatch = tag(
  'If-None-Match',
  'Answers 304 if the `ETag` is still this one; a comma list of several, or `*`.',
);

export const prefer: Json = {
  name: 'Prefer',
  in: 'header',
  description: '`wait=N` waits up to N seconds, at most 30, for an answer before 409 is sent (RFC 7240): `wait=10`.',
  schema: { type: 'string' },
};
