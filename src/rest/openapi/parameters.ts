import { PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page-size.ts';
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

/** Every query parameter there is. */
export const queryParameters = {
  limit: query(
    'limit',
    `Items of the page, ${PAGE_DEFAULT} if only \`after\` is given; a page of large ones may have fewer. Without \`limit\` and \`after\` the whole list is sent.`,
    { type: 'integer', minimum: 1, maximum: PAGE_MAX },
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
    { type: 'string', enum: ['partial', 'atomic'], default: 'partial' },
  ),
  dryRun: query('dryRun', 'Reports what would happen and stores nothing.', { type: 'boolean', default: false }),
  fleetId: query(
    'fleetId',
    'The fleet, where the body is the file itself, or where a client cannot send the form field before the file.',
    {
      type: 'string',
      format: 'uuid',
    },
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
  eventType: query('type', 'Only events of these types: a comma list.', { type: 'string' }),
  eventFleetId: query('fleetId', 'Only events about this fleet and its vehicles.', { type: 'string', format: 'uuid' }),
  eventVin: query('vin', 'Only events about the vehicle with this VIN.', { type: 'string' }),
  since: query('since', 'Only events from then on.', { type: 'string', format: 'date-time' }),
  until: query('until', 'Only events before then.', { type: 'string', format: 'date-time' }),
  deliveryState: query('state', 'Only deliveries in this state.', {
    type: 'string',
    enum: ['PENDING', 'SUCCEEDED', 'FAILED'],
  }),
} satisfies Record<string, Json>;

export type QueryParameter = keyof typeof queryParameters;

/** What stands in a path, by its name there. */
const pathParameters: Readonly<Record<string, { description: string; schema: Json; example: string }>> = {
  fleetId: { description: 'The id of the fleet.', schema: { type: 'string', format: 'uuid' }, example: UUID },
  vehicleId: { description: 'The id of the vehicle.', schema: { type: 'string', format: 'uuid' }, example: UUID },
  id: {
    description: 'The id, from the answer that created it.',
    schema: { type: 'string', format: 'uuid' },
    example: UUID,
  },
  deliveryId: { description: 'The id of the delivery.', schema: { type: 'string', format: 'uuid' }, example: UUID },
  vin: {
    description: 'The VIN of the vehicle. Case, spaces and dashes do not count.',
    schema: { type: 'string' },
    example: 'WBA3A5C50CF256985',
  },
};

/** The parameter of that name in a path; throws for one that nobody has described. */
export function pathParameter(name: string): Json {
  const known = pathParameters[name];
  if (!known) throw new Error(`The path parameter "${name}" is not described.`);
  return { name, in: 'path', required: true, ...known };
}

export const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again: for 24 hours, the same key with the same request gets the first answer, ' +
    'also an error (but for 401, 403, 429 and 5xx), instead of a second effect. Make a new one, such as a UUID, for each ' +
    'new request. Without a token a key counts for the very same request only.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e][\\x20-\\x7e]{0,254}$' },
};

export const prefer: Json = {
  name: 'Prefer',
  in: 'header',
  description: '`wait=N` waits up to N seconds, at most 30, for an answer before 409 is sent (RFC 7240): `wait=10`.',
  schema: { type: 'string' },
};
