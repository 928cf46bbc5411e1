import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import {
  buildSchema,
  type ExecutionResult,
  execute,
  type GraphQLEnumType,
  type GraphQLResolveInfo,
  parse,
  responsePathAsArray,
} from 'graphql';
import type { Gateway } from './gateway.ts';
import { nameOf } from './operation.ts';

/**
 * A plain implementation of GraphQL: graphql-js over schema.graphql, one resolver per field, on rows that were read
 * once from the tables. It shares nothing with the gateway but the text of the schema.
 */
export const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

Object.assign(schema.getType('DateTime') as object, {
  parseValue: (value: unknown) => (typeof value === 'string' ? value : refuse('VALIDATION_FAILED')),
});

// biome-ignore lint/suspicious/noExplicitAny: rows and arguments have any type; a mistake shows in the answers.
type Row = any;
type Table = (typeof tables)[number];
const tables = [
  ...(['fleet', 'vehicle', 'contract', 'event', 'history', 'import', 'webhook', 'delivery'] as const),
  'import_rejection',
] as const;

/** All rows that one company may see, in the order of its lists, and the time of reading. */
export type Rows = Readonly<Record<Table | 'manufacturer' | 'provider', readonly Row[]>> & { readonly now: string };

/** Reads the rows of a company; the rows must not change afterwards. */
export async function readRows(gateway: Gateway, company: string): Promise<Rows> {
  const read = async (table: Table) => {
    const found = await gateway.execute<{ row: string }>(`select to_json(t)::text as row from "${table}" t`);
    const rows = found.map(({ row }) => asGraph(JSON.parse(row)));
    const idOf = ({ row }: Row) => `00000000-0000-8000-8000-${row.toString(16).padStart(12, '0')}`;
    return table === 'import_rejection' ? rows.map((row) => ({ ...row, id: idOf(row) })) : rows;
  };
  const all = Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await read(table)])));
  const own = (table: Table): Row[] => all[table].filter((row: Row) => row.company === company);
  const sizesOf = ({ id }: Row) => {
    const statuses = own('vehicle').flatMap(({ fleetId, status }) => (fleetId === id ? [status] : []));
    const attention = statuses.filter((status) => ['INELIGIBLE', 'UNSUPPORTED', 'FAILED'].includes(status));
    return { vehicles: statuses.length, attention: attention.length };
  };
  const webhooks = new Set(own('webhook').map(({ id }) => id));
  return {
    ...(Object.fromEntries(tables.map((table) => [table, inOrder(table, own(table))])) as Record<Table, Row[]>),
    fleet: inOrder(
      'fleet',
      own('fleet').map((fleet) => ({ ...fleet, sizes: sizesOf(fleet) })),
    ),
    delivery: inOrder(
      'delivery',
      all.delivery.filter((row: Row) => webhooks.has(row.webhookId)),
    ),
    manufacturer: gateway.services.manufacturers.list(),
    provider: providersOf(gateway.services.manufacturers.list(), all.vehicle),
    now: new Date().toISOString(),
  };
}

/** Packs of contracts; the settings name none, and who carries out contracts does so for any. */
function packsOf({ contract, manufacturer }: Rows): Row[] {
  const manufacturers = manufacturer.filter(({ contracts }) => contracts);
  return [...Map.groupBy(contract, ({ pack }) => pack)]
    .map(([name, own]) => ({ name, description: null, manufacturers, isOffered: true, contracts: own.length }))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
}

/** Providers that were never asked, each with the creation time of its oldest pending vehicle of any company. */
function providersOf(makers: readonly Row[], vehicles: readonly Row[]): Row[] {
  const soon = new Date(Date.now() + 15 * 60_000).toISOString();
  return [...Map.groupBy(makers, ({ provider }) => provider)].flatMap(([name, own]) => {
    if (name === null) return [];
    const brands = own.map(({ id }) => ({ id, state: 'OK', since: null }));
    const waiting = vehicles.filter(
      ({ status, dueAt, manufacturer }) =>
        status === 'PENDING' && dueAt !== null && dueAt <= soon && brands.some(({ id }) => id === manufacturer),
    );
    const [oldestWaiting = null] = waiting.map(({ createdAt }) => createdAt).toSorted();
    const contracts = { toActivate: 0, activatingSince: null, toRevoke: 0, revokingSince: null };
    const services = ['ELIGIBILITY', 'CLEARANCES'].map((one) => ({
      name: one,
      state: 'OK',
      since: null,
      reason: null,
    }));
    return [{ name, state: 'OK', since: null, askedLastMinute: 0, oldestWaiting, contracts, services, brands }];
  });
}

const typeNameOf = (table: Table) =>
  table === 'history' ? 'HistoryItem' : `${table[0]?.toUpperCase()}${table.slice(1)}`;

/** Sorts rows as lists do, and adds the sort key as `place`. */
const inOrder = (table: Table, rows: Row[]): Row[] => {
  const placed = rows.map((row) => ({ ...row, table, place: orders[table]?.(row) ?? row.id }));
  return placed.toSorted((a, b) => (a.place < b.place ? -1 : 1));
};
const orders: Partial<Record<Table, (row: Row) => string | number>> = {
  event: ({ position }) => position,
  // Lists of the history begin with the latest item.
  history: ({ position }) => -position,
  import: ({ startedAt, id }) => `${startedAt} ${id}`,
};

/** A row with names and times in the form of the API. */
const asGraph = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d$/.test(value)
        ? new Date(value).toISOString()
        : value,
    ]),
  );

class Refusal extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}
const refuse = (code: string): never => {
  throw new Refusal(code);
};

/** An error and its path in the response; graphql-js does not report every error. */
export interface Fault {
  path: readonly (string | number)[];
  code: string;
}

export type Params = { query: string; variables?: Record<string, unknown> | null; operationName?: string | null };

/** The response to a valid query, with every error below it. */
export async function answer(rows: Rows, params: Params): Promise<{ result: ExecutionResult; faults: Fault[] }> {
  const faults: Fault[] = [];
  const result = await execute({
    schema,
    // Only rows of tables and data of events have abstract types.
    typeResolver: ({ dataType, table }) => dataType ?? typeNameOf(table),
    document: parse(params.query),
    variableValues: params.variables,
    operationName: params.operationName,
    fieldResolver: (source, args, _context, info) => resolve(rows, source, args, info, faults),
  });
  // Waits for resolvers that still run after an error nulled their parent.
  await new Promise(setImmediate);
  for (const { path = [], originalError } of result.errors ?? [])
    faults.push({ path, code: originalError instanceof Refusal ? originalError.code : 'VALIDATION_FAILED' });
  return { result, faults };
}

function resolve(rows: Rows, source: Row, args: Row, info: GraphQLResolveInfo, faults: Fault[]): unknown {
  const field = fields[`${info.parentType.name}.${info.fieldName}`];
  if (!field) return source[info.fieldName];
  // Each field is a promise, so that an error does not stop the fields beside it.
  return (async () => field(source, args, rows))().catch((error) => {
    if (error instanceof Refusal) faults.push({ path: responsePathAsArray(info.path), code: error.code });
    throw error;
  });
}

type Field = (source: Row, args: Row, rows: Rows) => unknown;

const sameId = (one: string, other: string | null) => one.toLowerCase() === other;
const vinText = (text: string) => text.replaceAll(/[\s-]/g, '').toUpperCase();
const isVinPart = (text: string) => /^[A-HJ-NPR-Z0-9]{2,17}$/.test(vinText(text));
const sameVin = (one: string, other: string) => vinText(one) === other;
export const folded = (text: string) =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[ßæœþłøıđðħŧ]/g, (letter) => typed[letter] ?? letter)
    .replaceAll(/[ \t\n\r\f\v]+/g, ' ');
/** What people type who do not have a letter on their keyboard. */
const typed: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ł: 'l', ø: 'o', ı: 'i', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't' },
};
const statusOf = ({ startsAt, endsAt }: Row, now: string) =>
  now < startsAt ? 'SCHEDULED' : now < endsAt ? 'ACTIVE' : 'ENDED';

/** The state at the manufacturer; in the world of these rows no manufacturer is asked. */
const activationOf = (contract: Row, now: string) => {
  const status = statusOf(contract, now);
  if (status === 'SCHEDULED') return status;
  return status === 'ENDED' && ['OFF', 'UNSUPPORTED'].includes(contract.activation) ? status : contract.activation;
};

/** Predicates of rows, by list and filter member. */
const filters: Record<string, Record<string, (row: Row, wanted: Row, rows: Rows) => boolean>> = {
  fleet: {
    name: (fleet, text) => folded(fleet.name).includes(folded(text.trim())),
    vat: (fleet, vat) => fleet.vat === vat,
  },
  vehicle: {
    eligibility: (vehicle, status) => [status].flat().includes(vehicle.status),
    manufacturer: (vehicle, slug) => vehicle.manufacturer === slug,
    vin: ({ vin }, text) => vin.startsWith(vinText(text)) || vin.endsWith(vinText(text)),
    fleetIds: (vehicle, ids) => ids.some((one: string) => sameId(one, vehicle.fleetId)),
    reasonCode: (vehicle, code) => vehicle.reason !== null && knownCode(vehicle.reason.code) === code,
    actor: (vehicle, actor) => vehicle.reason?.actor === actor,
    verifiedBefore: ({ verifiedAt }, time) => verifiedAt !== null && verifiedAt < new Date(time).toISOString(),
    verifiedAfter: ({ verifiedAt }, time) => verifiedAt !== null && verifiedAt >= new Date(time).toISOString(),
  },
  contract: {
    fleetId: (contract, id) => sameId(id, contract.fleetId),
    vin: (contract, text, rows) => {
      const { vin } = vehicleOf(contract, rows);
      return isVinPart(text) && (vin.startsWith(vinText(text)) || vin.endsWith(vinText(text)));
    },
    fleetIds: (contract, ids) => [ids].flat().some((id: string) => sameId(id, contract.fleetId)),
    pack: (contract, pack) => contract.pack === pack,
    packs: (contract, packs) => [packs].flat().includes(contract.pack),
    status: (contract, status, rows) => statusOf(contract, rows.now) === status,
    statuses: (contract, statuses, rows) => [statuses].flat().includes(statusOf(contract, rows.now)),
    // In the world of these rows no state needs a reason.
    activationReason: () => false,
    activation: (contract, states, rows) => [states].flat().includes(activationOf(contract, rows.now)),
    name: (contract, text) => folded(contract.name).includes(folded(text.trim())),
  },
  event: {
    types: (event, types) => types.includes(eventTypeOf(event.type)),
    fleetId: (event, id) => sameId(id, event.fleetId),
    contractId: (event, id) => sameId(id, event.contractId),
    historyId: (event, id) => sameId(id, event.historyId),
    vehicleId: (event, id) => event.vehicleIds.some((one: string) => sameId(id, one)),
    vin: (event, vin) => event.vins.some((one: string) => sameVin(vin, one)),
    from: (event, time) => event.at >= new Date(time).toISOString(),
    to: (event, time) => event.at < new Date(time).toISOString(),
    since: (event, time) => event.at >= new Date(time).toISOString(),
    until: (event, time) => event.at < new Date(time).toISOString(),
  },
  history: {
    fleetId: (item, id) => sameId(id, item.fleetId),
    types: (item, types) => types.includes(eventTypeOf(item.type)),
  },
  delivery: { state: (delivery, state) => delivery.state === state },
};

const hasNul = (text: string) => text.includes('\0');

/** Arguments that are invalid in any case; a filter is validated even if there are no rows. */
const wrong: Record<string, (value: Row) => boolean> = {
  first: (size) => size < 1 || size > 1000,
  last: (size) => size < 1 || size > 1000,
  name: hasNul,
  vat: hasNul,
  manufacturer: hasNul,
  pack: hasNul,
  packs: (packs) => [packs].flat().some(hasNul),
  'vehicle.vin': (text) => !isVinPart(text),
  verifiedBefore: (time) => Number.isNaN(Date.parse(time)),
  verifiedAfter: (time) => Number.isNaN(Date.parse(time)),
  'event.from': (time) => Number.isNaN(Date.parse(time)),
  'event.to': (time) => Number.isNaN(Date.parse(time)),
  since: (time) => Number.isNaN(Date.parse(time)),
  until: (time) => Number.isNaN(Date.parse(time)),
};

/** The sort key of a row, by order. */
const sortTexts: Record<string, (row: Row) => string> = {
  CREATED_AT: () => '',
  NAME: ({ name }) => name,
  VIN: ({ vin }) => vin,
  VERIFIED_AT: ({ verifiedAt }) => verifiedAt ?? '~',
  FROM: ({ startsAt }) => startsAt,
  TO: ({ endsAt }) => endsAt,
  VEHICLE_COUNT: ({ sizes }) => `${sizes.vehicles}`,
  ATTENTION_COUNT: ({ sizes }) => `${sizes.attention}`,
};
/** A sort key that is compared as a text. */
const comparable = (text: string, field: string) => (field.endsWith('_COUNT') ? text.padStart(9, '0') : text);
type OrderBy = { field: string; direction: string };
const BY_CREATION: OrderBy = { field: 'CREATED_AT', direction: 'ASC' };

const bytesOf = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex');
const signed = ({ field, direction }: OrderBy) => `${direction === 'DESC' ? '-' : ''}${field}`;
/** Times of this world have milliseconds only. */
const sortText = (row: Row, field: string) => sortTexts[field]?.(row).replace(/(\.\d{3})Z$/, '$1000Z') ?? '';

/** The cursor of a row or an id in an order. */
export function cursorOf(row: Row, orderBy: OrderBy = BY_CREATION): string {
  const id = bytesOf(row.id ?? row);
  if (isDeepStrictEqual({ ...orderBy }, BY_CREATION)) return id.toString('base64url');
  const text = sortText(row, orderBy.field);
  const sorted = `${signed(orderBy)}${text === '' || text === '~' ? '' : `=${text}`}`;
  return Buffer.concat([id, Buffer.from(sorted)]).toString('base64url');
}

/** The position of a cursor in the order of a list; null without a cursor. */
function placeOf(kind: Table, cursor: string | null | undefined, rows: Rows, orderBy: OrderBy): Row {
  if (cursor == null) return null;
  const isEvent = kind === 'event' && rows.event.some(({ id }) => id === cursor.toLowerCase());
  const hex = isEvent ? cursor.replaceAll('-', '') : Buffer.from(cursor, 'base64url').toString('hex');
  const id = hex
    .toLowerCase()
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (!isDeepStrictEqual({ ...orderBy }, BY_CREATION)) {
    // Cursors of other orders are always those of existing rows here.
    const row = rows[kind].find((one) => cursorOf(one, orderBy) === cursor);
    return row ? { id: row.id, text: sortText(row, orderBy.field) } : refuse('VALIDATION_FAILED');
  }
  if (id.length !== 36 || (!isEvent && cursorOf(id) !== cursor)) return refuse('VALIDATION_FAILED');
  if (kind === 'event') return rows.event.find((event) => event.id === id) ?? refuse('VALIDATION_FAILED');
  // Pages before and after an unknown row are empty.
  if (kind !== 'import' && kind !== 'history') return { place: id };
  return rows[kind].find((one) => one.id === id) ?? { place: Number.NaN };
}

const compare = <T>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN);
/** Compares by code points; JavaScript compares by UTF-16 units. */
const compareTexts = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Compares rows or cursor positions in an order. */
const inOrderOf =
  ({ field, direction }: OrderBy) =>
  (a: Row, b: Row): number => {
    const [one, other] = [a, b].map((row) => comparable(row.text ?? sortText(row, field), field)) as [string, string];
    const [id, otherId] = [a, b].map((row) => row.place ?? row.id);
    return (compareTexts(one, other) || compare(id, otherId)) * (direction === 'DESC' ? -1 : 1);
  };

/** A connection of the rows of one kind for which `among` is true. */
const list =
  (kind: Table, among: (row: Row, source: Row) => boolean = () => true): Field =>
  (source, { filter, state, orderBy, ...args }, rows) => {
    const wanted = Object.entries({ state, ...filter }).filter(([, value]) => value != null);
    const isWrong = [...Object.entries(args), ...wanted].some(
      ([name, value]) => value != null && (wrong[`${kind}.${name}`] ?? wrong[name])?.(value),
    );
    if (isWrong || (args.first != null && args.last != null)) return refuse('VALIDATION_FAILED');
    const order: OrderBy = orderBy ?? BY_CREATION;
    const compared = inOrderOf(order);
    const after = placeOf(kind, args.after, rows, order);
    const before = placeOf(kind, args.before, rows, order);
    const all = rows[kind]
      .filter((row) => among(row, source) && wanted.every(([name, value]) => filters[kind]?.[name]?.(row, value, rows)))
      .toSorted(compared);
    const between = all.filter((row) => (!after || compared(row, after) > 0) && (!before || compared(row, before) < 0));
    const nodes = args.last == null ? between.slice(0, args.first ?? 50) : between.slice(-args.last);
    const [first, last] = [nodes.at(0), nodes.at(-1)];
    return {
      nodes,
      edges: nodes.map((node) => ({ node, cursor: cursorOf(node, order) })),
      totalCount: all.length,
      totalCountIsExact: true,
      pageInfo: {
        startCursor: first ? cursorOf(first, order) : null,
        endCursor: last ? cursorOf(last, order) : null,
        hasPreviousPage: all.some((row) => (first ? compared(row, first) < 0 : after && compared(row, after) <= 0)),
        hasNextPage: all.some((row) => (last ? compared(row, last) > 0 : before && compared(row, before) >= 0)),
      },
    };
  };

const one =
  (kind: Table, code: string): Field =>
  (_source, { id }, rows) =>
    rows[kind].find((row) => sameId(id, row.id)) ?? refuse(code);
/** The object with this id. Clients choose the ids of imports: if another object has the id, that object counts. */
const nodeOf = (id: string, rows: Rows): Row =>
  (['fleet', 'vehicle', 'contract', 'event', 'history', 'webhook', 'delivery', 'import'] as const)
    .flatMap((kind) => rows[kind])
    .find((row) => sameId(id, row.id)) ?? null;
/** The rank of a match in a search; 0 is the best. */
const fitOf = (part: string, text: string) => (text === part ? 0 : text.startsWith(part) ? 1 : 2);
const search: Field = (_source, { text, first }, rows) => {
  const part = text.trim();
  if (part === '' || part.length > 255 || hasNul(part) || first < 1 || first > 50) return refuse('VALIDATION_FAILED');
  const named = (kind: 'fleet' | 'contract') =>
    rows[kind].map((row) => ({ row, part: folded(part), of: folded(row.name) }));
  const vehicles = rows.vehicle.map((row) => ({ row, part: vinText(part), of: row.vin as string }));
  const fits = (one: { part: string; of: string }) =>
    part.length < 3 ? one.of.startsWith(one.part) : one.of.includes(one.part);
  const ofVin = isVinPart(part) || /^[A-HJ-NPR-Z\d]{2}$/.test(vinText(part));
  const groups = [
    named('fleet').filter(fits),
    vehicles.filter((one) => ofVin && (one.of.startsWith(one.part) || one.of.endsWith(one.part))),
    named('contract').filter(fits),
  ].map((group) => group.toSorted((a, b) => compareTexts(a.of, b.of) || compare(a.row.id, b.row.id)));
  const all = groups.flat().toSorted((a, b) => fitOf(a.part, a.of) - fitOf(b.part, b.of));
  return all.slice(0, first).map(({ row }) => row);
};
const vehicleBy = (fits: (vehicle: Row) => boolean, rows: Rows) =>
  rows.vehicle.find(fits) ?? refuse('VEHICLE_NOT_FOUND');
const fleetOf: Field = ({ fleetId }, _args, rows) => rows.fleet.find(({ id }) => id === fleetId);
const vehicleOf = ({ vehicleId }: Row, rows: Rows) => rows.vehicle.find(({ id }) => id === vehicleId);
const makerOf = ({ manufacturer }: Row, rows: Rows) => rows.manufacturer.find(({ id }) => id === manufacturer) ?? null;
const eventOf = ({ eventId }: Row, rows: Rows) => rows.event.find(({ id }) => id === eventId);
const count =
  (status: string): Field =>
  (fleet, _args, rows) =>
    fleet[status.toLowerCase()] ??
    rows.vehicle.filter(
      (vehicle) => (fleet.table === 'company' || vehicle.fleetId === fleet.id) && vehicle.status === status,
    ).length;
const LENGTHS: Record<string, number> = { HOUR: 3_600_000, DAY: 86_400_000 };
const activity: Field = (_company, { from, to, by, fleetId }, rows) => {
  const length = LENGTHS[by] ?? 0;
  const unitOf = (time: string, unit = length) => Math.floor(Date.parse(time) / unit) * unit;
  if (to != null && Date.parse(from) >= Date.parse(to)) return refuse('VALIDATION_FAILED');
  const until = Date.parse(to ?? rows.now);
  // An invalid time makes the comparison false.
  if (!(until - unitOf(from) <= 1000 * length)) return refuse('VALIDATION_FAILED');
  const those = rows.event.filter(
    ({ at, fleetId: of }) =>
      unitOf(at, LENGTHS.HOUR) >= unitOf(from) &&
      unitOf(at, LENGTHS.HOUR) < until &&
      (fleetId == null || sameId(fleetId, of)),
  );
  const groups = Object.entries(
    Object.groupBy(those, ({ at, type }) => `${new Date(unitOf(at)).toISOString()} ${type}`),
  );
  return groups
    .toSorted(([a], [b]) => compareTexts(a, b))
    .map(([key, events = []]) => ({
      from: key.split(' ')[0],
      type: key.split(' ')[1],
      count: events.length,
      vehicleCount: events.reduce((sum, { vehicleIds }) => sum + vehicleIds.length, 0),
    }));
};
/** A resolver that reads the row's member of this name. */
const called =
  (name: string): Field =>
  (source) =>
    source[name];
const isValueOf = (type: string, value: string) =>
  (schema.getType(type) as GraphQLEnumType).getValues().some(({ name }) => name === value);
const knownCode = (code: string) => (isValueOf('ReasonCode', code) ? code : 'OTHER');
const itself: Field = (source) => source;
const eventVehicles: Field = ({ vehicleIds, vins }) =>
  vehicleIds.map((id: string, at: number) => ({ id, vehicleId: id, vin: vins[at] }));

const eventTypeOf = (type: string) => (isValueOf('EventType', nameOf(type)) ? nameOf(type) : 'OTHER');
const eventData: Field = ({ type, data, vehicleIds }) => {
  const { from, to, importId, changes } = data;
  const dataType =
    type.startsWith('contract.') && type !== 'contract.updated'
      ? 'ContractData'
      : `${type.replaceAll(/(?:^|\.)(\w)/g, (_: string, letter: string) => letter.toUpperCase())}Data`;
  if (!schema.getType(dataType)) return { dataType: 'OtherData', json: data };
  return {
    ...data,
    dataType,
    fromImportId: importId ?? null,
    fromFleetId: from,
    toFleetId: to,
    fromStatus: from,
    toStatus: to,
    ...(dataType === 'VehicleRemovedData' && { vehicleCount: vehicleIds.length }),
    [dataType === 'ContractUpdatedData' ? 'contractChanges' : 'changes']: Object.entries<Row>(changes ?? {}).map(
      ([name, change]) => ({
        field: name.replace(/[A-Z]/, '_$&').toUpperCase(),
        ...change,
      }),
    ),
  };
};

/** Beginnings of the reasons for which a receiver gave no answer. */
const deliveryErrors = [
  ['The URL', 'URL_NOT_ALLOWED'],
  ['The host name cannot', 'HOST_NOT_FOUND'],
  ['The host is not', 'HOST_NOT_PUBLIC'],
  ['The connection was refused', 'CONNECTION_REFUSED'],
  ['The connection was closed', 'CONNECTION_CLOSED'],
  ['No answer within', 'TIMEOUT'],
  ['The request failed', 'REQUEST_FAILED'],
] as const;

/** The body of a webhook request: an event in REST's form. */
const bodyOf = (event: Row, rows: Rows) => {
  const { id, type, at, company, fleetId, contractId, vehicleIds, actor, requestId, data } = event;
  const vehicles = (eventVehicles(event, {}, rows) as Row[]).map(({ id, vin }) => ({ id, vin }));
  const vehicleCount = vehicleIds.length;
  const parts = {
    id,
    type,
    timestamp: at,
    company,
    fleetId,
    contractId,
    vehicles,
    vehicleCount,
    actor,
    requestId,
    data,
  };
  return JSON.stringify(parts);
};

/** Resolvers of fields that do more than read a member of their row. */
const fields: Record<string, Field> = {
  'Query.node': (_source, { id }, rows) => nodeOf(id, rows),
  'Query.nodes': (_source, { ids }, rows) =>
    ids.length > 100 ? refuse('VALIDATION_FAILED') : ids.map((id: string) => nodeOf(id, rows)),
  'Query.fleets': list('fleet'),
  'Query.fleet': one('fleet', 'FLEET_NOT_FOUND'),
  'Query.vehicles': list('vehicle'),
  'Query.vehicle': (_source, { by: { id, vin } }, rows) =>
    vehicleBy((vehicle) => (id == null ? sameVin(vin, vehicle.vin) : sameId(id, vehicle.id)), rows),
  'Query.eligibility': (_source, { vin }, rows) => vehicleBy((vehicle) => sameVin(vin, vehicle.vin), rows),
  'Query.contracts': list('contract'),
  'Query.search': search,
  'Query.contract': one('contract', 'CONTRACT_NOT_FOUND'),
  'Query.manufacturers': (_source, _args, rows) => rows.manufacturer,
  'Query.packs': (_source, _args, rows) => packsOf(rows),
  'Query.providers': (_source, _args, rows) => rows.provider,
  'Query.import': one('import', 'IMPORT_NOT_FOUND'),
  'Query.events': list('event'),
  'Query.history': (source, { fleetId, types, ...args }, rows, ...more) =>
    list('history')(source, { ...args, filter: { fleetId, types } }, rows, ...more),
  'HistoryItem.type': ({ type }) => eventTypeOf(type),
  'HistoryItem.from': called('firstAt'),
  'HistoryItem.to': called('lastAt'),
  'HistoryItem.count': called('events'),
  'HistoryItem.vehicleCount': called('vehicles'),
  'HistoryItem.statuses': (item) => (item.type === 'eligibility.changed' ? item : null),
  'HistoryItem.manufacturer': (item, _args, rows) => makerOf(item, rows),
  'HistoryItem.fleet': fleetOf,
  'HistoryItem.import': ({ importId }, _args, rows) => rows.import.find(({ id }) => id === importId),
  'HistoryItem.events': list('event', (event, item) => event.historyId === item.id),
  'Query.company': (_source, _args, rows) => ({ table: 'company', id: rows.fleet[0].company }),
  'Company.fleetCount': (_source, _args, rows) => rows.fleet.length,
  'Company.vehicleCount': (_source, _args, rows) => rows.vehicle.length,
  'Company.contractCount': (_source, _args, rows) => rows.contract.length,
  'Company.eligibilitySummary': itself,
  'Company.activity': activity,
  'Company.contractSummary': itself,
  'ContractSummary.byReason': () => [],
  ...Object.fromEntries(
    ['SCHEDULED', 'PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED', 'UNSUPPORTED', 'OFF'].map((state) => [
      `ContractSummary.${state.toLowerCase()}`,
      ((_company, _args, rows) => rows.contract.filter((one) => activationOf(one, rows.now) === state).length) as Field,
    ]),
  ),
  'ActivityCount.type': ({ type }) => eventTypeOf(type),
  'Query.event': one('event', 'NOT_FOUND'),
  'Query.webhooks': list('webhook'),
  'Query.webhook': one('webhook', 'WEBHOOK_NOT_FOUND'),
  'Fleet.vehicleCount': ({ id }, _args, rows) => rows.vehicle.filter(({ fleetId }) => fleetId === id).length,
  'Fleet.vehicles': list('vehicle', (vehicle, fleet) => vehicle.fleetId === fleet.id),
  'Fleet.contracts': list('contract', (contract, fleet) => contract.fleetId === fleet.id),
  'Fleet.imports': list('import', (run, fleet) => run.fleetId === fleet.id),
  'Fleet.timeline': list('event', (event, fleet) => event.fleetId === fleet.id),
  'Fleet.eligibilitySummary': itself,
  'EligibilitySummary.pending': count('PENDING'),
  'EligibilitySummary.eligible': count('ELIGIBLE'),
  'EligibilitySummary.ineligible': count('INELIGIBLE'),
  'EligibilitySummary.unsupported': count('UNSUPPORTED'),
  'EligibilitySummary.failed': count('FAILED'),
  'Vehicle.fleet': fleetOf,
  'Vehicle.manufacturer': (vehicle, _args, rows) => makerOf(vehicle, rows),
  'Vehicle.eligibility': itself,
  'Vehicle.contracts': list('contract', (contract, vehicle) => contract.vehicleId === vehicle.id),
  'Vehicle.timeline': list('event', (event, vehicle) => event.vehicleIds.includes(vehicle.id)),
  'Eligibility.eligible': ({ status }) => (status === 'ELIGIBLE' ? true : status === 'INELIGIBLE' ? false : null),
  'Eligibility.manufacturer': (vehicle, _args, rows) => makerOf(vehicle, rows),
  'Eligibility.nextAttemptAt': ({ claimedBy, dueAt }) => (claimedBy ? null : dueAt),
  'EligibilityReason.code': ({ code }) => knownCode(code),
  'Contract.fleet': fleetOf,
  'Contract.vehicle': (contract, _args, rows) => vehicleOf(contract, rows),
  'Contract.vin': (contract, _args, rows) => vehicleOf(contract, rows).vin,
  'Contract.manufacturer': (contract, _args, rows) => makerOf(vehicleOf(contract, rows), rows),
  'Contract.from': called('startsAt'),
  'Contract.to': called('endsAt'),
  'Contract.status': (contract, _args, rows) => statusOf(contract, rows.now),
  'Contract.activation': (contract, _args, rows) => {
    const { createdAt, startsAt } = contract;
    const state = activationOf(contract, rows.now);
    return {
      state,
      reason: null,
      changedAt: contract.activationChangedAt ?? createdAt,
      nextAttemptAt: state === 'PENDING' ? (startsAt > createdAt ? startsAt : createdAt) : null,
    };
  },
  'Contract.timeline': list('event', (event, contract) => event.contractId === contract.id),
  'Import.fleet': fleetOf,
  'Import.column': called('vinColumn'),
  'Import.rejectedCount': called('rejected'),
  'Import.rejected': list('import_rejection', (row, run) => row.importId === run.id),
  'Event.type': ({ type }) => eventTypeOf(type),
  'Event.data': eventData,
  'Event.timestamp': called('at'),
  'Event.vehicles': eventVehicles,
  'ProviderBrand.manufacturer': (brand, _args, rows) => rows.manufacturer.find(({ id }) => id === brand.id),
  'Event.fleet': fleetOf,
  'Event.contract': ({ contractId }, _args, rows) => rows.contract.find(({ id }) => id === contractId),
  'Event.vehicleCount': ({ vehicleIds }) => vehicleIds.length,
  'Webhook.types': ({ types }) => types.map(nameOf),
  'Webhook.deliveries': list('delivery', (delivery, webhook) => delivery.webhookId === webhook.id),
  'Webhook.reasonCode': ({ reason, state }) =>
    reason === null ? null : state === 'DISABLED' ? 'RECEIVER_GONE' : 'ATTEMPTS_EXHAUSTED',
  'Webhook.oldSecretUntil': ({ oldSecretUntil }, _args, { now }) => (oldSecretUntil > now ? oldSecretUntil : null),
  'Delivery.type': (delivery, _args, rows) => eventTypeOf(eventOf(delivery, rows).type),
  // An inactive webhook sends only deliveries that a client asked for.
  'Delivery.nextAttemptAt': ({ claimed, dueAt, asked, webhookId }, _args, rows) => {
    const { state } = rows.webhook.find(({ id }) => id === webhookId);
    return claimed || !(asked || state === 'ACTIVE') ? null : dueAt;
  },
  'Delivery.errorCode': ({ error }) =>
    error === null ? null : (deliveryErrors.find(([begin]) => error.startsWith(begin))?.[1] ?? null),
  'Delivery.request': (delivery) => (delivery.url === null ? null : delivery),
  'DeliveryRequest.body': (delivery, _args, rows) => bodyOf(eventOf(delivery, rows), rows),
};
