import { documentOf, documents, oneFleet, twentyFleets, typename, unfilled } from './documents.ts';
import { COMPANY, type Seed, WRITER } from './seed.ts';
import type { Request } from './support/load.ts';
import type { World } from './support/world.ts';

/** A table of the report. */
export type Question = 'requests' | 'writes' | 'documents' | 'none twice' | 'tokens';

export interface Workload {
  question: Question;
  name: string;
  goal: number;
  /** Number of warm-up requests, if the default is too low. */
  warmUp?: number;
  /** A request that is repeated, or a function that makes each request. */
  request: Request | (() => Request);
  /** Large responses are sent on fewer connections; memory and time to first byte are reported as well. */
  large?: boolean;
  /** Creates the rows that this number of requests will use up. */
  supply?: (count: number) => Promise<void>;
}

/** The next request of a workload. */
export function requestOf({ request }: Workload): Request {
  return typeof request === 'function' ? request() : request;
}

const TOKENS = 20_000;
/** The number of rows over which writes are spread. */
const SPREAD = 1000;
const fields = { name: 'New', companyAddress: 'Main Street 1', email: 'new@example.com', vat: 'DE1' };
const createFleet = `mutation Create($input: CreateFleetInput!) { createFleet(input: $input) { fleet {
  id company name companyAddress email vat vehicleCount createdAt updatedAt } } }`;

/** Makes the requests that are sent alike to the floor, the gateway and any peer. */
export async function workloads(world: World, seed: Seed): Promise<Workload[]> {
  const request =
    (company: string) =>
    (method: Request['method'], path: string, body?: unknown): Request => ({
      method,
      path,
      headers: world.headers(company),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const read = request(COMPANY);
  const graphql = (query: string, variables?: object) => read('POST', '/graphql', { query, variables });
  return [
    ...requests(seed, read, graphql),
    ...(await writes(world, request(WRITER))),
    ...Object.entries(documents).flatMap(([name, document]) =>
      [...new Set([document, unfilled(document)])].map((one) => {
        const { query, variables } = documentOf(one, seed);
        const own = one === document ? name : `${name}, not filled`;
        return { question: 'documents' as const, name: own, goal: 0.8, request: graphql(query, variables) };
      }),
    ),
    {
      question: 'documents',
      name: 'an import’s refused rows, REST',
      goal: 0.8,
      request: read('GET', `/imports/${seed.importId}/rejected.csv`),
    },
    ...neverSeen(seed, graphql),
    {
      question: 'tokens',
      name: `W3 with ${TOKENS.toLocaleString('en')} tokens`,
      goal: 0.75,
      // Measures whether all verified tokens are remembered: the warm-up verifies each signature once.
      warmUp: TOKENS,
      request: manyTokens(world, seed),
    },
  ];
}

type Ask = (method: Request['method'], path: string, body?: unknown) => Request;
type AskGraphQL = (query: string, variables?: object) => Request;

const requests = (seed: Seed, read: Ask, graphql: AskGraphQL): Workload[] =>
  [
    { name: 'W1 REST, 50 fleets', goal: 1, request: read('GET', '/fleets') },
    { name: 'W2 REST, 100 vehicles', goal: 1, request: read('GET', `/fleets/${seed.fleetOf100}/vehicles`) },
    { name: 'W2 filled', goal: 1, request: read('GET', `/fleets/${seed.fleetOf100}/vehicles?limit=100`) },
    { name: 'W2b REST, 1,000 vehicles', goal: 1, request: read('GET', `/fleets/${seed.fleetOf1000}/vehicles`) },
    {
      name: 'W2c REST, 100,000 vehicles',
      goal: 1,
      request: read('GET', `/fleets/${seed.fleetOf100000}/vehicles`),
      large: true,
    },
    { name: 'W3 REST, eligibility of a VIN', goal: 0.9, request: read('GET', `/vehicles/eligibility/${seed.vin}`) },
    { name: 'W4 GraphQL, a fleet with 100 vehicles', goal: 1, request: graphql(oneFleet(), { id: seed.fleetOf100 }) },
    { name: 'W4 not filled', goal: 1, request: graphql(unfilled(oneFleet()), { id: seed.fleetOf100 }) },
    { name: 'W5 GraphQL, 20 fleets × 20 vehicles', goal: 1, request: graphql(twentyFleets()) },
    { name: 'W5 not filled, × 100 vehicles', goal: 1, request: graphql(unfilled(twentyFleets())) },
    { name: 'W6 GraphQL, { __typename }', goal: 0.45, request: graphql(typename()) },
  ].map((one) => ({ question: 'requests' as const, ...one }));

/** Documents that differ from all others by an alias. */
function neverSeen(seed: Seed, graphql: AskGraphQL): Workload[] {
  let made = 0;
  const alias = () => `own${++made}`;
  return [
    { name: 'W4, none twice', goal: 0.7, request: () => graphql(oneFleet(alias()), { id: seed.fleetOf100 }) },
    { name: 'W5, none twice', goal: 0.9, request: () => graphql(twentyFleets(alias())) },
    { name: 'W6, none twice', goal: 0.45, request: () => graphql(typename(alias())) },
  ].map((one) => ({ question: 'none twice' as const, ...one }));
}

function manyTokens(world: World, seed: Seed): () => Request {
  const headers: Record<string, string>[] = [];
  let turn = 0;
  return () => {
    // Tokens are signed on first use: this many take seconds.
    while (headers.length < TOKENS)
      headers.push({ authorization: `Bearer ${world.newToken(COMPANY, { sub: `user-${headers.length}` })}` });
    turn = (turn + 1) % TOKENS;
    return { method: 'GET', path: `/vehicles/eligibility/${seed.vin}`, headers: headers[turn] ?? {} };
  };
}

async function writes(world: World, write: Ask): Promise<Workload[]> {
  const fleets = await makeFleets(world, SPREAD, 1);
  // No workload adds vehicles to these fleets, so their responses do not depend on earlier workloads.
  const changed = await makeFleets(world, SPREAD, 1);
  const supplied = { fleets: [] as string[], vehicles: [] as string[] };
  let turn = 0;
  const fleetOf = (n: number) => fleets[n % SPREAD]?.id ?? '';
  /** VINs of a manufacturer without a provider: verification is measured separately. */
  const vin = () => `WP0${String(++turn).padStart(14, '0')}`;
  const post = (count: number) => () =>
    write('POST', '/vehicles', { fleetId: fleetOf(turn), vins: Array.from({ length: count }, vin) });
  const contract = () => {
    const { id, vin } = fleets[++turn % SPREAD] ?? { id: '', vin: '' };
    const period = { from: '2030-01-01T00:00:00.000Z', to: '2031-01-01T00:00:00.000Z' };
    const text = { name: 'Telematics', description: 'Mileage and location', pack: `pack ${turn}` };
    return write('POST', '/contracts', { fleetId: id, vin, ...text, ...period });
  };
  return [
    { name: 'W7 create a fleet, REST', goal: 0.55, request: write('POST', '/fleets', fields) },
    {
      name: 'W7 create a fleet, GraphQL',
      goal: 0.55,
      request: write('POST', '/graphql', { query: createFleet, variables: { input: fields } }),
    },
    { name: 'POST /vehicles, 1', goal: 0.6, request: post(1) },
    { name: 'POST /vehicles, 100', goal: 0.8, request: post(100) },
    { name: 'POST /contracts', goal: 0.6, request: contract },
    {
      name: 'PATCH a fleet',
      goal: Number.NaN,
      request: () => write('PATCH', `/fleets/${changed[++turn % SPREAD]?.id}`, { vat: `FR${turn}` }),
    },
    {
      name: 'DELETE a fleet with 3 vehicles',
      goal: Number.NaN,
      request: () => write('DELETE', `/fleets/${supplied.fleets.pop()}`),
      async supply(count: number) {
        supplied.fleets = (await makeFleets(world, count, 3)).map(({ id }) => id);
      },
    },
    {
      name: 'DELETE a vehicle',
      goal: Number.NaN,
      request: () => write('DELETE', `/vehicles/${supplied.vehicles.pop()}`),
      async supply(count: number) {
        supplied.vehicles = (await makeFleets(world, count, 1)).map(({ vehicle }) => vehicle);
      },
    },
  ].map((one) => ({ question: 'writes' as const, ...one }));
}

let supplies = 0;

/** Creates fleets of WRITER with `vehicles` vehicles each; returns each fleet's id with one of its vehicles. */
async function makeFleets(world: World, count: number, vehicles: number) {
  supplies += 1;
  return (await world.sql(
    `with known as (
       insert into company values ('${WRITER}') on conflict do nothing
     ), f as (
       insert into fleet select new_uuid(), '${WRITER}', 'Spare', 'Main Street 1', 'spare@example.com', 'DE1', now(), now()
       from generate_series(1, $1::int) returning id
     ), numbered as (select id, row_number() over () as n from f), v as (
       insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status)
       select new_uuid(), '${WRITER}', id, 'WP1' || lpad($3::text, 6, '0') || lpad((n * 10 + m)::text, 8, '0'), 'porsche', now(), 'UNSUPPORTED'
       from numbered, generate_series(1, $2::int) m returning id, fleet_id, vin, status
     ), counted as (
       insert into vehicle_tally (company, fleet_id, status, delta)
       select '${WRITER}', fleet_id, status, count(*) from v group by fleet_id, status
     )
     select distinct on (fleet_id) fleet_id as id, id as vehicle, vin from v`,
    [count, vehicles, supplies],
  )) as { id: string; vehicle: string; vin: string }[];
}
