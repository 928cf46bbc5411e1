import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { sumUpTallies } from '../src/core/operations/upkeep.ts';
import { type Client, type Json, nextOf } from './support/client.ts';
import { createContract, createFleet, recount, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

// Compares random filters, orders and pages of sortable lists with rows that the test itself filters and sorts.
const gateway = await startGateway();
const company = 'lists';
let client: Client;
let fleetIds: string[];

const TIMES = ['2026-01-01 10:00:00.000001', '2026-01-01 10:00:00.000002', '2026-01-01 10:00:00.9995', '2026-03-01'];
const names = ['Zürich', 'Berlin', 'berlin', 'Ähre', 'Berlin', '100 %', '🚚', '\ue000', 'b=c"\\\n', '京都'];

beforeAll(async () => {
  client = await gateway.as(company);
  const fleets: Json[] = [];
  for (const name of names) fleets.push(await createFleet(client, { name }));
  fleetIds = fleets.slice(0, 3).map(({ id }) => id);
  // Many vehicles have the same time, some have none, and some differ by a microsecond.
  await gateway.execute(`insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, verified_at, reason)
    select ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${company}',
      (array['${fleetIds.join("','")}'])[1 + n % 3]::uuid,
      (array['WBA', 'ZFF', 'WBB'])[1 + n % 3] || lpad((n * 7919 % 100000)::text, 14, '0'),
      (array['bmw', 'ferrari', null])[1 + n % 3], now(),
      (array['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'])[1 + n % 5],
      (array[null, ${TIMES.map((time) => `'${time}Z'`).join(', ')}])[1 + n * 7 % 5]::timestamptz,
      case when n % 2 = 0 then jsonb_build_object('code', (array['REFUSED', 'VIN_REFUSED', 'ODD'])[1 + n % 3], 'message', 'm', 'retryable', false,
        'actor', (array['CUSTOMER', 'MANUFACTURER', 'OPERATOR'])[1 + n % 3]) end
    from generate_series(1, 40) n`);
  await gateway.execute(recount);
  const { body: vehicles } = await client.get(`/fleets/${fleetIds[0]}/vehicles`);
  for (const [at, vehicle] of vehicles.slice(0, 9).entries()) {
    const [from, to] = [`20${30 + (at % 3)}-01-01T00:00:00Z`, `20${40 - (at % 4)}-01-01T00:00:00Z`];
    await createContract(client, vehicle, { from, to });
  }
});

type Row = Record<string, string | null>;
/** Rows with a text per column; sorting by bytes of the text gives the order. */
const rowsOf = async (table: string, columns: Record<string, string>): Promise<Row[]> => {
  const selected = Object.entries(columns).map(([name, column]) => `${column} as "${name}"`);
  return gateway.execute(`select ${selected.join(', ')} from ${table} where company = '${company}'`);
};
const micro = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`;
const milli = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

interface List {
  path: string;
  query: string;
  connection(data: Json): Json;
  rows(): Promise<Row[]>;
  orders: Record<string, string>;
}
const page = '$first: Int, $last: Int, $after: String, $before: String';
const passed = 'first: $first, last: $last, after: $after, before: $before, orderBy: $orderBy';
const connection =
  'totalCount edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage }';

const vehicleColumns = {
  id: 'id',
  fleetId: 'fleet_id',
  vin: 'vin',
  manufacturer: 'manufacturer',
  status: 'status',
  verifiedAt: micro('verified_at'),
  shown: milli('verified_at'),
  code: `reason->>'code'`,
  actor: `reason->>'actor'`,
};
const contractColumns = { id: 'id', fleetId: 'fleet_id', from: micro('starts_at'), to: micro('ends_at') };
/** The number of a fleet's vehicles that meet a condition, as a text whose order is that of numbers. */
const counted = (condition: string) =>
  `(select lpad(count(*)::text, 9, '0') from vehicle v where v.fleet_id = fleet.id and ${condition})`;
const fleetColumns = {
  id: 'id',
  name: 'name',
  vehicles: counted('true'),
  attention: counted(`v.status in ('INELIGIBLE', 'UNSUPPORTED', 'FAILED')`),
};
const vehicleOrders = { CREATED_AT: 'id', VIN: 'vin', VERIFIED_AT: 'verifiedAt' };

const lists: Record<string, List> = {
  fleets: {
    path: '/fleets',
    query: `query (${page}, $orderBy: FleetOrder) { list: fleets(${passed}) { ${connection} } }`,
    connection: ({ list }) => list,
    rows: () => rowsOf('fleet', fleetColumns),
    orders: { CREATED_AT: 'id', NAME: 'name', VEHICLE_COUNT: 'vehicles', ATTENTION_COUNT: 'attention' },
  },
  vehicles: {
    path: '/vehicles',
    query: `query (${page}, $orderBy: VehicleOrder, $filter: VehicleFilter) { list: vehicles(${passed}, filter: $filter) { ${connection} } }`,
    connection: ({ list }) => list,
    rows: () => rowsOf('vehicle', vehicleColumns),
    orders: vehicleOrders,
  },
  'vehicles of a fleet': {
    path: '/fleets/<fleet>/vehicles',
    query: `query (${page}, $orderBy: VehicleOrder) { fleet(id: "<fleet>") { list: vehicles(${passed}) { ${connection} } } }`,
    connection: ({ fleet }) => fleet.list,
    rows: async () => (await rowsOf('vehicle', vehicleColumns)).filter(({ fleetId }) => fleetId === fleetIds[0]),
    orders: vehicleOrders,
  },
  contracts: {
    path: `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`,
    query: `query (${page}, $orderBy: ContractOrder) { list: contracts(${passed}) { ${connection} } }`,
    connection: ({ list }) => list,
    rows: () => rowsOf('contract', contractColumns),
    orders: { CREATED_AT: 'id', FROM: 'from', TO: 'to' },
  },
  'contracts of a fleet': {
    path: '',
    query: `query (${page}, $orderBy: ContractOrder) { fleet(id: "<fleet>") { list: contracts(${passed}) { ${connection} } } }`,
    connection: ({ fleet }) => fleet.list,
    rows: async () => (await rowsOf('contract', contractColumns)).filter(({ fleetId }) => fleetId === fleetIds[0]),
    orders: { CREATED_AT: 'id', FROM: 'from', TO: 'to' },
  },
};
const ofFleet = (text: string) => text.replaceAll('<fleet>', fleetIds[0] ?? '');

const bytes = (text: string | null | undefined) => Buffer.from(text ?? '\u{10ffff}');
function sorted(rows: Row[], column: string, direction: string): string[] {
  const inOrder = rows.toSorted(
    (a, b) => Buffer.compare(bytes(a[column]), bytes(b[column])) || Buffer.compare(bytes(a.id), bytes(b.id)),
  );
  return (direction === 'ASC' ? inOrder : inOrder.toReversed()).map(({ id }) => id as string);
}

const time = fc.constantFrom('2026-01-01T10:00:00Z', '2026-01-01T10:00:00.001Z', '2026-02-01T00:00:00+01:00');
const filters = () =>
  fc.record(
    {
      eligibility: fc.subarray(['PENDING', 'ELIGIBLE', 'FAILED', 'UNSUPPORTED'], { minLength: 1 }),
      manufacturer: fc.constantFrom('bmw', 'ferrari', 'x', ''),
      vin: fc.constantFrom('wba', 'wb', 'ZFF0', '000', '0 2', ' 0-00 1', '001', '777'),
      fleetIds: fc.subarray([...fleetIds, unknownId, 'x'], { minLength: 1 }),
      reasonCode: fc.constantFrom('REFUSED', 'VIN_REFUSED', 'NOT_ELIGIBLE', 'OTHER'),
      actor: fc.constantFrom('CUSTOMER', 'OPERATOR'),
      verifiedBefore: time,
      verifiedAfter: time,
    },
    { requiredKeys: [] },
  );
type Filter = Partial<Record<string, string | string[]>>;
const iso = (value: unknown) => new Date(value as string).toISOString().replace('T', ' ').replace('Z', '000');

const fits: Record<string, (row: Row, value: string & string[]) => boolean> = {
  eligibility: ({ status }, statuses) => statuses.includes(status ?? ''),
  manufacturer: ({ manufacturer }, slug) => manufacturer === (slug as string),
  vin: ({ vin = '' }, text) => {
    const part = text.replaceAll(/[ -]/g, '').toUpperCase();
    return vin?.startsWith(part) || vin?.endsWith(part) || false;
  },
  fleetIds: ({ fleetId }, ids) => ids.includes(fleetId ?? ''),
  reasonCode: ({ code }, wanted) => (code === 'ODD' ? 'OTHER' : code) === (wanted as string),
  actor: ({ actor }, wanted) => actor === (wanted as string),
  verifiedBefore: ({ verifiedAt }, at) => verifiedAt != null && verifiedAt < iso(at),
  verifiedAfter: ({ verifiedAt }, at) => verifiedAt != null && verifiedAt >= iso(at),
};
const matching = (rows: Row[], filter: Filter) =>
  rows.filter((row) => Object.entries(filter).every(([name, value]) => fits[name]?.(row, value as never)));

const sortOf = (field: string, direction: string) =>
  `${direction === 'DESC' ? '-' : ''}${field.toLowerCase().replace(/_(\w)/, (_, letter: string) => letter.toUpperCase())}`;

/** An address of REST with these parameters; several values are joined by commas. */
const address = (path: string, given: Json) => {
  const { fleetIds: fleetId, ...others } = given;
  const params = Object.entries({ ...others, fleetId }).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(params.map(([name, value]) => [name, String(value)]));
  return `${ofFleet(path)}${path.includes('?') ? '&' : '?'}${search}`;
};

describe.each(Object.entries(lists))('%s', (name, list) => {
  const direction = fc.constantFrom('ASC', 'DESC');
  const ask = async (variables: Json): Promise<Json> => {
    const { body } = await client.post('/graphql', { query: ofFleet(list.query), variables });
    expect(body.errors).toBeUndefined();
    return list.connection(body.data);
  };
  const field = fc.constantFrom(...Object.keys(list.orders));
  const filter = () => (name === 'vehicles' ? filters() : fc.constant({}));

  test('each page equals a plain sort of the rows, by GraphQL', async () => {
    const rows = await list.rows();
    expect(rows.length).toBeGreaterThan(8);
    const bound = fc.option(fc.nat({ max: 30 }), { nil: null });
    await fc.assert(
      fc.asyncProperty(
        ...([field, direction, filter(), fc.integer({ min: 1, max: 12 }), fc.boolean(), bound, bound] as const),
        async (by, direction, filter, size, backward, afterAt, beforeAt) => {
          const orderBy = { field: by, direction };
          const column = list.orders[by] ?? '';
          // Cursors of rows outside the filter are valid, too.
          const all = await ask({ first: 1000, orderBy });
          const everything = sorted(rows, column, direction);
          expect(all.edges.map(({ node }: Json) => node.id)).toEqual(everything);
          const [after, before] = [afterAt, beforeAt].map((at) => (at === null ? null : at % everything.length));
          const cursorAt = (at: number | null | undefined) => (at == null ? null : all.edges[at].cursor);
          const wanted = sorted(matching(rows, filter), column, direction);
          const placed = wanted.map((id) => everything.indexOf(id));
          const between = wanted.filter((_id, at) => {
            const place = placed[at] ?? 0;
            return (after == null || place > after) && (before == null || place < before);
          });
          const ids = backward ? between.slice(-size) : between.slice(0, size);
          const found = await ask({
            ...{ [backward ? 'last' : 'first']: size, after: cursorAt(after), before: cursorAt(before), orderBy },
            ...(name === 'vehicles' && { filter }),
          });
          expect(found.edges.map(({ node }: Json) => node.id)).toEqual(ids);
          expect(found.edges.map(({ cursor }: Json) => cursor)).toEqual(
            ids.map((id) => all.edges[everything.indexOf(id)].cursor),
          );
          const [first, last] = [ids.at(0), ids.at(-1)].map((id) => (id ? everything.indexOf(id) : null));
          expect(found.totalCount).toBe(wanted.length);
          expect(found.pageInfo).toEqual({
            startCursor: cursorAt(first),
            endCursor: cursorAt(last),
            hasNextPage: placed.some((place) => (last == null ? before != null && place >= before : place > last)),
            hasPreviousPage: placed.some((place) => (first == null ? after != null && place <= after : place < first)),
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  test.runIf(list.path)('each page and the whole list equal a plain sort of the rows, by REST', async () => {
    const rows = await list.rows();
    await fc.assert(
      fc.asyncProperty(
        field,
        direction,
        filter(),
        fc.integer({ min: 1, max: 15 }),
        async (by, direction, filter, size) => {
          const ids = sorted(matching(rows, filter), list.orders[by] ?? '', direction);
          const given = { ...filter, sort: sortOf(by, direction) };
          const whole = await client.get(address(list.path, given));
          expect(whole.body.map(({ id }: Json) => id)).toEqual(ids);
          const pages: string[][] = [];
          for (let next: string | undefined = address(list.path, { ...given, limit: size }); next; ) {
            const { headers, body }: Awaited<ReturnType<Client['get']>> = await client.get(next);
            pages.push(body.map(({ id }: Json) => id));
            next = nextOf(headers);
          }
          expect(pages.flat()).toEqual(ids);
          expect(pages.slice(0, -1).every((one) => one.length === size)).toBe(true);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('a cursor is valid in its own order only', async () => {
    const orders = Object.keys(list.orders).flatMap((by) =>
      ['ASC', 'DESC'].map((way) => ({ field: by, direction: way })),
    );
    for (const one of orders) {
      const { endCursor } = (await ask({ first: 3, orderBy: one })).pageInfo;
      for (const other of orders) {
        const variables = { after: endCursor, orderBy: other };
        const { body } = await client.post('/graphql', { query: ofFleet(list.query), variables });
        const sort = sortOf(other.field, other.direction);
        const rest = list.path && (await client.get(address(list.path, { sort, after: endCursor })));
        if (one === other) {
          expect(body.errors).toBeUndefined();
          if (rest) expect(rest.status).toBe(200);
        } else {
          const refused = [{ path: 'after', code: 'INVALID_CURSOR' }];
          expect(body.errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: refused });
          if (rest) expect(rest).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: refused } });
        }
      }
    }
  });

  test('a forged cursor is refused, or leads to a page', async () => {
    const texts = [
      '=x',
      '=',
      '=\0',
      '=2026-02-31T00:00:00.000000Z',
      '=infinity',
      `=${'x'.repeat(300)}`,
      '=\u{1f69a}',
      ...['=7', '=07', '=-7', '=7.0', '=7e9', '= 7', `=${'9'.repeat(18)}`, `=${'9'.repeat(19)}`],
      '',
    ];
    for (const by of Object.keys(list.orders)) {
      for (const text of texts) {
        const after = Buffer.concat([Buffer.alloc(16, 0x77), Buffer.from(`${by}${text}`)]).toString('base64url');
        const variables = { after, orderBy: { field: by } };
        const { body } = await client.post('/graphql', { query: ofFleet(list.query), variables });
        if (body.errors) expect(body.errors[0].extensions.code).toBe('VALIDATION_FAILED');
        else expect(list.connection(body.data).edges).toBeInstanceOf(Array);
      }
    }
  });
});

describe('unknown values', () => {
  test.each([
    ...['/fleets', '/vehicles', `/fleets/<fleet>/vehicles`, lists.contracts?.path ?? ''].flatMap((path) => [
      [path, 'sort', 'colour'],
      [path, 'sort', '--createdAt'],
      [path, 'sort', 'CREATED_AT'],
      [path, 'sort', ''],
    ]),
    ['/vehicles', 'eligibility', 'GOOD'],
    ['/vehicles', 'eligibility', 'FAILED,'],
    ['/vehicles', 'actor', 'NOBODY'],
    ['/vehicles', 'verifiedBefore', 'yesterday'],
    ['/vehicles', 'verifiedAfter', '2026-01-01'],
    ['/vehicles', 'manufacturer', '\0'],
  ] as [string, string, string][])('%s by %s=%s is 400 by its name', async (path, name, value) => {
    const { status, body } = await client.get(address(path, { [name]: value }));
    expect([status, body.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(body.errors[0].path.split('.')[0]).toBe(name);
  });

  test.each(['eligibility', 'manufacturer', 'fleetId', 'actor', 'sort'])('%s given twice is 400', async (name) => {
    const { status, body } = await client.get(`/vehicles?${name}=FAILED&${name}=FAILED`);
    expect([status, body.errors?.[0].path.split('.')[0]]).toEqual([400, name]);
  });

  test('too many fleets in a filter are refused before any is read', async () => {
    const query = 'query ($filter: VehicleFilter) { vehicles(filter: $filter) { totalCount } }';
    const variables = { filter: { fleetIds: Array(1001).fill(unknownId) } };
    const { body } = await client.post('/graphql', { query, variables });
    expect(body.errors[0].extensions.code).toBe('PAYLOAD_TOO_LARGE');
  });
});

test('pages by name stay right while fleets are renamed, added and deleted', async () => {
  const other = await gateway.as('renaming');
  const made: Json[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) made.push(await createFleet(other, { name }));
  const seen: string[] = [];
  let next: string | undefined = '/fleets?sort=name&limit=2';
  for (let at = 0; next; at++) {
    const { headers, body }: Awaited<ReturnType<Client['get']>> = await other.get(next);
    seen.push(...body.map(({ name }: Json) => name));
    next = nextOf(headers);
    // The row of the cursor moves away, and is deleted later.
    if (at === 0) await other.patch(`/fleets/${made[1].id}`, { name: 'z' });
    if (at === 1) {
      await other.delete(`/fleets/${made[3].id}`);
      await createFleet(other, { name: 'dd' });
    }
  }
  expect(seen).toEqual(['a', 'b', 'c', 'd', 'dd', 'e', 'f', 'z']);
});

describe('pages by a count of vehicles', () => {
  const statuses = ['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'] as const;
  type Counts = Record<(typeof statuses)[number], number>;
  const numberOf = (counts: Counts, sort: string) =>
    sort.endsWith('vehicleCount')
      ? statuses.reduce((sum, one) => sum + counts[one], 0)
      : counts.INELIGIBLE + counts.UNSUPPORTED + counts.FAILED;
  const change = fc.record({
    fleet: fc.nat(),
    status: fc.constantFrom(...statuses),
    delta: fc.integer({ min: -2, max: 3 }),
    what: fc.constantFrom('count', 'count', 'count', 'count', 'delete', 'create', 'sum up'),
  });
  let companies = 0;

  test('go on from their position while vehicles and fleets are added, changed and deleted', async () => {
    const neighbour = await createFleet(await gateway.as('counting'));
    await gateway.execute(
      `insert into vehicle_tally (company, fleet_id, status, delta) values ('counting', '${neighbour.id}', 'FAILED', 2)`,
    );
    const run = async (sort: string, name: string | null, size: number, changes: readonly Json[]) => {
      const own = `counting-${++companies}`;
      const counting = await gateway.as(own);
      const fleets = new Map<string, { name: string; counts: Counts }>();
      const create = async () => {
        const { id, name: made } = await createFleet(counting, { name: `${fleets.size % 3 ? 'Van' : 'Car'}` });
        fleets.set(id, { name: made, counts: { PENDING: 0, ELIGIBLE: 0, INELIGIBLE: 0, UNSUPPORTED: 0, FAILED: 0 } });
      };
      for (let at = 0; at < 6; at++) await create();
      const apply = async ({ fleet: at, status, delta, what }: Json) => {
        const [id, fleet] = [...fleets][at % fleets.size] ?? [];
        if (what === 'sum up') return sumUpTallies(contextOf(gateway.services, 'test', null));
        if (what === 'create' || !id || !fleet) return create();
        if (what === 'delete') {
          await counting.delete(`/fleets/${id}`);
          return fleets.delete(id);
        }
        const by = Math.max(delta, -fleet.counts[status as keyof Counts]);
        fleet.counts[status as keyof Counts] += by;
        return gateway.execute(
          `insert into vehicle_tally (company, fleet_id, status, delta) values ('${own}', '${id}', '${status}', ${by})`,
        );
      };
      const later = changes.slice(changes.length / 2);
      for (const one of changes.slice(0, changes.length / 2)) await apply(one);
      const turn = sort.startsWith('-') ? -1 : 1;
      type Position = readonly [count: number, id: string];
      const compared = ([count, id]: Position, [other, otherId]: Position) =>
        turn * (count - other || Number(id > otherId) - Number(id < otherId));
      let position: Position = [-Infinity * turn, ''];
      let next: string | undefined = address('/fleets', { sort, limit: size, ...(name && { name }) });
      while (next) {
        const wanted = [...fleets]
          .filter(([, one]) => !name || one.name.includes(name))
          .map(([id, { counts }]) => [numberOf(counts, sort), id] as const)
          .toSorted(compared)
          .filter((one) => compared(one, position) > 0);
        const { headers, body }: Awaited<ReturnType<Client['get']>> = await counting.get(next);
        expect(body.map(({ id }: Json) => id)).toEqual(wanted.slice(0, size).map(([, id]) => id));
        for (const { id, vehicleCount } of body)
          expect(vehicleCount).toBe(numberOf(fleets.get(id)?.counts as Counts, 'vehicleCount'));
        position = wanted[size - 1] ?? position;
        next = nextOf(headers);
        for (const one of later.splice(0, 2)) await apply(one);
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('vehicleCount', '-vehicleCount', 'attentionCount', '-attentionCount'),
        fc.constantFrom(null, 'Van'),
        fc.integer({ min: 1, max: 3 }),
        fc.array(change, { minLength: 8, maxLength: 24 }),
        run,
      ),
      { numRuns: 25 },
    );
  });
});
