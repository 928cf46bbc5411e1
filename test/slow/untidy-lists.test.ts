// Rows that PostgreSQL reads for every list, order and filter of 120,000 mixed vehicles.
import { beforeAll, describe, expect, test } from 'vitest';
import { CREATION_ORDER, type SortOrder } from '../../src/core/sql/order.ts';
import { cursorOf } from '../../src/core/sql/page.ts';
import { vehicleSortOrders } from '../../src/core/vehicles/vehicle.ts';
import type { Client } from '../support/client.ts';
import { startExplained } from '../support/explained.ts';
import { recount } from '../support/factories.ts';
import { looks, pagesRead } from '../support/plans.ts';

// Rows of 200 companies as in production: mixed, one company with half of all rows, and statuses and manufacturers
// distributed otherwise per company than in the whole table, so that the planner's estimates are wrong.

const { gateway, seen } = await startExplained({ LIMIT_GRAPHQL_COST: '1000000' });

const VEHICLES = 120_000;
const LARGE = 50_000;
/** Vehicles of a fleet that no page of 1,000 fills. */
const SMALL = 100;
/** Vehicles of `big` with the rare status. */
const RARE = 66;
const fleets = {
  large: '01980000-0000-7000-8000-000000000001',
  middle: '01980000-0000-7000-8000-000000000002',
  single: '01980000-0000-7000-8000-000000000003',
  rest: '01980000-0000-7000-8000-000000000004',
  small: '01980000-0000-7000-8000-000000000005',
};
/** A company whose vehicles are all of one fleet, among many of others. */
const other = { company: 'other-001', fleet: '01980000-0000-7000-8000-000000000006' };
const first = '2026-01-01T00:00:00Z';

/** `n` numbers rows in the order of storage; `k` numbers those of the large company in no order. */
const made = `create table made as
    select n, n % 2 = 0 as big, (n / 2) * 7919 % ${VEHICLES / 2} as k, (n::bigint * 7919) % 999983 as vin,
      case when n % 2 = 0 then 'big' else 'other-' || lpad((n * 31 % 199)::text, 3, '0') end as company
    from generate_series(1, ${VEHICLES}) n`;
/** Rows per statement; a statement has half a minute. */
const STEP = 5_000;
const vehicles = (from: number) => `
  insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, reason, verified_at)
    select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, company,
      case when company = '${other.company}' then '${other.fleet}' when not big then md5(company)::uuid when k < ${LARGE} then '${fleets.large}'
        when k < ${LARGE} + 1000 then '${fleets.middle}' when k = ${LARGE} + 1000 then '${fleets.single}'
        when k <= ${LARGE} + 1000 + ${SMALL} then '${fleets.small}'
        else '${fleets.rest}' end::uuid,
      case maker when 'bmw' then 'WBA' when 'audi' then 'WBA' when 'kia' then 'KNA' else '5YJ' end || lpad(vin::text, 14, '0'),
      maker, '${first}'::timestamptz + n * interval '1 second', status,
      case status when 'FAILED' then jsonb_build_object('code', 'VIN_REFUSED', 'message', 'No', 'retryable', false,
          'actor', case when big then 'CUSTOMER' else 'OPERATOR' end)
        when 'INELIGIBLE' then jsonb_build_object('code', case when big then 'NOT_ELIGIBLE' else 'ODD' end, 'message', 'No',
          'retryable', false, 'actor', case when big then 'MANUFACTURER' else 'OPERATOR' end) end,
      case when status <> 'PENDING' then '${first}'::timestamptz + (vin % 999983) * interval '2 seconds' end
    from made cross join lateral (select
      case when not big then (array['FAILED', 'UNSUPPORTED', 'INELIGIBLE'])[1 + n % 3]
        when k % ${Math.floor(VEHICLES / 2 / RARE)} = 7 then 'FAILED'
        when k % 5 = 1 then 'INELIGIBLE' when k % 5 = 2 then 'PENDING' else 'ELIGIBLE' end as status,
      case when not big then 'tesla' when k % ${Math.floor(VEHICLES / 2 / RARE)} = 11 then 'kia' when k / 5 % 5 > 1 then 'bmw'
        else 'audi' end as maker) facts
    where n > ${from} and n <= ${from + STEP} order by n`;

const fill = [
  made,
  `insert into company (company, position) select distinct company, 0 from made`,
  `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select id::uuid, 'big', 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now()
      from unnest(array['${Object.values(fleets).join(`', '`)}']) id
    union all select case company when '${other.company}' then '${other.fleet}' else md5(company) end::uuid, company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now()
      from company where company <> 'big'`,
  ...Array.from({ length: VEHICLES / STEP }, (_, at) => vehicles(at * STEP)),
  recount,
  'drop table made',
];

let acme: Client;
let small: Client;
beforeAll(async () => {
  acme = await gateway.as('big');
  small = await gateway.as(other.company);
  for (const statement of fill) await gateway.execute(statement);
  await gateway.execute('vacuum analyze vehicle');
  for (const table of ['fleet', 'company', 'vehicle_tally']) await gateway.execute(`analyze ${table}`);
}, 120_000);

interface Look {
  /** Rows of the answer. */
  returned: number;
  rows: number;
  blocks: number;
  by: string;
}

/** Rows of vehicles, and pages of any table, that PostgreSQL read for a request. */
async function lookedAt(ask: () => Promise<unknown>): Promise<Look> {
  seen.length = 0;
  const returned = Number(await ask());
  const all = seen.flatMap(({ Plan }) => Object.entries(looks(Plan)));
  return {
    returned,
    rows: all.reduce((sum, [what, rows]) => (/^(vehicle|entries) by/.test(what) ? sum + rows : sum), 0),
    blocks: pagesRead(seen.map(({ Plan }) => Plan)),
    by: all.map(([what, rows]) => `${what} ${rows}`).join(', '),
  };
}

/** A list in an index's order may read at most this many rows more than it returns. */
const SPARE = 150;
/** A filtered list in another order may read this many rows per row of a page and at both ends, to find few matches. */
const SOUGHT = 3 * 5_001;
/** Pages of tables and indexes per row. */
const BLOCKS = 4;

type Excesses = Record<string, string>;
/** Notes the query if it read more than `most` rows, or pages. */
function judge(found: Excesses, what: string, look: Look, most: number, pages = most * BLOCKS + 200): void {
  if (look.rows > most || look.blocks > pages) {
    found[what] = `${look.rows} rows, ${look.blocks} of ${pages} pages; ${most} rows may be: ${look.by}`;
  }
}

/** Notes the list if it read much more than it returned, filled or not; `sought` rows may be looked up beside. */
function judgeList(found: Excesses, what: string, look: Look, sought: number): void {
  // A filtered list has no row at the cursor of a deep page, which may be far from all.
  const pages = what.startsWith('deep') ? undefined : 10 * look.returned + 250 + sought * BLOCKS;
  judge(found, what, look, 5 * look.returned + SPARE + sought, pages);
}

const orders = Object.keys(vehicleSortOrders).flatMap((field) =>
  (['ASC', 'DESC'] as const).map((direction) => ({ field, direction })),
);
type ListOrder = (typeof orders)[number];

const range = (from: number, to: number) => ({
  verifiedAfter: new Date(Date.parse(first) + from * 1000).toISOString(),
  verifiedBefore: new Date(Date.parse(first) + to * 1000).toISOString(),
});

interface Filtered {
  filter: Record<string, unknown>;
  /** Orders of an index that also has the filter. */
  ordered: readonly string[];
  /** Orders in which the many matching rows come after many others, such as pending ones. */
  walked?: readonly string[];
}
const filters: Record<string, Filtered> = {
  none: { filter: {}, ordered: ['CREATED_AT', 'VIN', 'VERIFIED_AT'] },
  'a common status': { filter: { eligibility: ['ELIGIBLE'] }, ordered: [], walked: ['VERIFIED_AT'] },
  'a rare status': { filter: { eligibility: ['FAILED'] }, ordered: [] },
  'an absent status': { filter: { eligibility: ['UNSUPPORTED'] }, ordered: [] },
  'two statuses': { filter: { eligibility: ['FAILED', 'INELIGIBLE'] }, ordered: [], walked: ['VERIFIED_AT'] },
  'all statuses': {
    filter: { eligibility: ['FAILED', 'INELIGIBLE', 'PENDING', 'ELIGIBLE', 'UNSUPPORTED'] },
    ordered: [],
  },
  'a common manufacturer': { filter: { manufacturer: 'bmw' }, ordered: [] },
  'a rare manufacturer': { filter: { manufacturer: 'kia' }, ordered: [] },
  'an absent manufacturer': { filter: { manufacturer: 'tesla' }, ordered: [] },
  'an unknown manufacturer': { filter: { manufacturer: 'nobody' }, ordered: [] },
  'a common code': { filter: { reasonCode: 'NOT_ELIGIBLE' }, ordered: [], walked: ['VERIFIED_AT'] },
  'a rare code': { filter: { reasonCode: 'VIN_REFUSED' }, ordered: [] },
  'an absent code': { filter: { reasonCode: 'LICENCE_EXPIRED' }, ordered: [] },
  'a common actor': { filter: { actor: 'MANUFACTURER' }, ordered: [], walked: ['VERIFIED_AT'] },
  'a rare actor': { filter: { actor: 'CUSTOMER' }, ordered: [] },
  'an absent actor': { filter: { actor: 'OPERATOR' }, ordered: [] },
  'most times': { filter: range(0, 3_000_000), ordered: ['VERIFIED_AT'] },
  'a short time': { filter: range(1_000_000, 1_000_500), ordered: ['VERIFIED_AT'] },
  'no time': { filter: range(-1_000, -1), ordered: ['VERIFIED_AT'] },
  'a late time': { filter: { verifiedAfter: range(1_990_000, 0).verifiedAfter }, ordered: ['VERIFIED_AT'] },
  'a common beginning': { filter: { vin: 'WBA' }, ordered: [] },
  'a rare beginning': { filter: { vin: 'KNA' }, ordered: [] },
  'two characters': { filter: { vin: 'WB' }, ordered: [] },
  'an absent beginning': { filter: { vin: '5YJ' }, ordered: [] },
  'an absent end': { filter: { vin: 'ZZZZ' }, ordered: [] },
  'a rare status and a common manufacturer': { filter: { eligibility: ['FAILED'], manufacturer: 'bmw' }, ordered: [] },
};

const columns: Record<string, string> = { CREATED_AT: 'id', VIN: 'vin collate "C"', VERIFIED_AT: 'verified_at' };
const orderOf = ({ field, direction }: ListOrder): SortOrder => ({
  ...CREATION_ORDER,
  name: `${direction === 'DESC' ? '-' : ''}${field}`,
  descending: direction === 'DESC',
  by: (vehicleSortOrders as Record<string, { by?: SortOrder['by'] }>)[field]?.by ?? null,
});

/** The cursor of a vehicle in the middle of the company or one of its fleets. */
async function deepCursor(order: ListOrder, fleetId: string | undefined): Promise<string> {
  const [row] = await gateway.execute<{ id: string; vin: string; at: string | null }>(`
    select id, vin, to_char(verified_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from vehicle
    where company = 'big' ${fleetId ? `and fleet_id = '${fleetId}'` : ''}
    order by ${columns[order.field]} offset ${fleetId === fleets.large ? LARGE / 2 : 400} limit 1`);
  const text = { CREATED_AT: null, VIN: row?.vin ?? null, VERIFIED_AT: row?.at ?? null }[order.field] ?? null;
  return cursorOf({ id: row?.id ?? '', text }, orderOf(order));
}

const scopes = { company: undefined, ...fleets };
const PAGE = 50;

async function askGraphql(list: string, type: string, variables: object, client = acme): Promise<number> {
  const types = { fleet: 'ID!', orderBy: 'VehicleOrder', filter: type, first: 'Int', last: 'Int', after: 'String' };
  const used = Object.entries(types).filter(([name]) => list.includes(`$${name}`));
  const query = `query (${used.map(([name, of]) => `$${name}: ${of}`).join(', ')}) { ${list} }`;
  const { body } = await client.post('/graphql', { query, variables });
  expect(body.errors).toBeUndefined();
  return (body.data.vehicles ?? body.data.fleet.vehicles).nodes?.length ?? 0;
}

const page = `(orderBy: $orderBy, filter: $filter, first: $first, last: $last, after: $after) {
  nodes { id vin eligibility { status } } pageInfo { hasNextPage hasPreviousPage endCursor } }`;
const ofCompany = `vehicles${page}`;
const ofFleet = `fleet(id: $fleet) { vehicles${page} }`;

/** First, last and deep pages, and those that a small list does not fill. */
async function positions(order: ListOrder, fleet: string | undefined) {
  const isSmall = fleet === fleets.single || fleet === fleets.small;
  const other = isSmall
    ? { 'unfilled first': { first: 1000 }, 'unfilled last': { last: 1000 } }
    : { deep: { first: PAGE, after: await deepCursor(order, fleet) } };
  return { first: { first: PAGE }, last: { last: PAGE }, ...other };
}

describe('untidy lists', () => {
  describe.each(Object.keys(scopes) as (keyof typeof scopes)[])('of %s', (scope) => {
    const fleet = scopes[scope];
    test.each(Object.keys(filters))('by %s read few more rows than they return', async (name) => {
      const { filter, ordered, walked = [] } = filters[name] ?? { filter: {}, ordered: [] };
      const given = { ...filter, ...(fleet && { fleetIds: [fleet] }) };
      const found: Excesses = {};
      for (const order of orders) {
        if (walked.includes(order.field)) continue;
        const sought = ordered.includes(order.field) ? 0 : SOUGHT;
        for (const [position, sizes] of Object.entries(await positions(order, fleet))) {
          const ask = () => askGraphql(ofCompany, 'VehicleFilter', { orderBy: order, filter: given, ...sizes });
          judgeList(found, `${position}, ${order.direction} ${order.field}`, await lookedAt(ask), sought);
        }
      }
      expect(found).toEqual({});
    });
  });

  const within: Record<string, Filtered> = {
    none: { filter: {}, ordered: ['CREATED_AT', 'VIN', 'VERIFIED_AT'] },
    ...Object.fromEntries(
      ['ELIGIBLE', 'FAILED', 'UNSUPPORTED'].map((one) => [
        one,
        { filter: { eligibility: one }, ordered: [], walked: one === 'ELIGIBLE' ? ['VERIFIED_AT'] : [] },
      ]),
    ),
    ...Object.fromEntries(
      ['bmw', 'kia', 'tesla'].map((manufacturer) => [manufacturer, { filter: { manufacturer }, ordered: [] }]),
    ),
    ...Object.fromEntries(['WBA', 'KNA', '5YJ', 'ZZZZ'].map((one) => [one, { filter: { vin: one }, ordered: [] }])),
  };
  test.each(Object.keys(within))('below their fleet by %s read few more rows than they return', async (name) => {
    const { filter, ordered, walked = [] } = within[name] ?? { filter: {}, ordered: [] };
    const found: Excesses = {};
    for (const order of orders) {
      if (walked.includes(order.field)) continue;
      const sought = ordered.includes(order.field) ? 0 : SOUGHT;
      for (const fleet of [fleets.large, fleets.middle, fleets.single, fleets.small]) {
        for (const [position, sizes] of Object.entries(await positions(order, fleet))) {
          const ask = () => askGraphql(ofFleet, 'VehicleFilter', { fleet, orderBy: order, filter, ...sizes });
          judgeList(found, `${position}, ${order.direction} ${order.field} of ${fleet}`, await lookedAt(ask), sought);
        }
      }
    }
    expect(found).toEqual({});
  });

  test.each(orders)('of a small company with one fleet are read to their end: $direction $field', async (order) => {
    const found: Excesses = {};
    for (const sizes of [{ first: PAGE }, { last: PAGE }, { first: 1000 }, { last: 1000 }]) {
      for (const [list, fleet] of [[ofCompany], [ofFleet, other.fleet]] as const) {
        const ask = () => askGraphql(list, 'VehicleFilter', { fleet, orderBy: order, ...sizes }, small);
        judgeList(found, `${JSON.stringify(sizes)} of ${fleet}`, await lookedAt(ask), 0);
      }
    }
    expect(found).toEqual({});
  });

  const sorts = ['createdAt', 'vin', 'verifiedAt'].flatMap((one) => [one, `-${one}`]);
  const types = ['application/json', 'text/csv', 'application/x-ndjson'];
  test.each(sorts)('pages of 1,000 by %s read few more rows than they return', async (sort) => {
    const found: Excesses = {};
    for (const list of [`/fleets/${fleets.large}/vehicles`, `/fleets/${fleets.middle}/vehicles`, '/vehicles']) {
      for (const accept of types) {
        let path: string | undefined = `${list}?sort=${sort}&limit=1000`;
        for (let page = 1; page <= 3 && path; page++) {
          const look = await lookedAt(async () => {
            const { status, headers } = await acme.get(path ?? '', { accept });
            expect(status).toBe(200);
            path = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
          });
          judge(found, `page ${page} of ${list} as ${accept}`, look, 5 * 1000 + SPARE);
        }
      }
    }
    expect(found).toEqual({});
  });

  test.each(types)('a whole large fleet, as %s, is read once', async (accept) => {
    const found: Excesses = {};
    const look = await lookedAt(async () => {
      expect((await acme.get(`/fleets/${fleets.large}/vehicles`, { accept })).status).toBe(200);
    });
    judge(found, 'the list', look, 2 * LARGE);
    expect(found).toEqual({});
  });

  const counts: [string, object, number][] = [
    ['a rare manufacturer', { manufacturer: 'kia' }, RARE],
    ['an absent manufacturer', { manufacturer: 'tesla' }, 0],
    ['a rare code', { reasonCode: 'VIN_REFUSED' }, RARE],
    ['an absent code', { reasonCode: 'LICENCE_EXPIRED' }, 0],
    ['a rare actor', { actor: 'CUSTOMER' }, RARE],
    ['an absent actor', { actor: 'OPERATOR' }, 0],
    ['a short time', range(1_000_000, 1_000_500), 250],
    ['no time', range(-1_000, -1), 0],
    ['a rare beginning', { vin: 'KNA' }, RARE],
    ['an absent beginning', { vin: '5YJ' }, 0],
  ];
  test.each(counts)('a count by %s reads only counted rows', async (_, filter, count) => {
    const found: Excesses = {};
    for (const [scope, fleet] of Object.entries(scopes)) {
      const given = { ...filter, ...(fleet && { fleetIds: [fleet] }) };
      const ask = () => askGraphql('vehicles(filter: $filter) { totalCount }', 'VehicleFilter', { filter: given });
      judge(found, scope, await lookedAt(ask), 2 * count + SPARE);
    }
    expect(found).toEqual({});
  });
});
