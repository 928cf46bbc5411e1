/**
 * Searches the most expensive requests within the limits: varies the slowest of random documents or random REST reads,
 * in a company of 105,800 vehicles among 100,000 of others, all mixed.
 *
 * Run:  npx node bench/dearest.ts [--count 1500] [--seed 1] [--of documents|rest]
 * Read: ms is PostgreSQL's CPU time per request; loop is the longest delay of another request. Goals: 2,000 and 100 ms.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { randomFrom } from '../test/documents/generate.ts';
import { schema } from '../test/support/reference.ts';
import { COMPANY, seed } from './seed.ts';
import { printTable, serverMicroseconds } from './support/measure.ts';
import { addressOf, type RestRequest, restRequests } from './support/rest-requests.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '1500' },
    seed: { type: 'string', default: '1' },
    of: { type: 'string', default: 'documents' },
  },
});
const random = randomFrom(Number(options.seed));
const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;

await using world = await openWorld();
migrate(world.url);
const made = await seed(world.admin, 100_000);
const gateway = await world.gateway();
const headers = { ...world.headers(COMPANY), 'content-type': 'application/json' };

const idsOf = async (table: string): Promise<string[]> =>
  (await world.sql(`select id from ${table} where company = $1 limit 5`, [COMPANY])).map(({ id }) => id);
const fleets = [made.fleetOf100, made.fleetOf1000, made.fleetOf100000];
const pools = {
  first: [10, 100, 1000],
  last: [10, 100, 1000],
  fleetId: fleets,
  fleetIds: fleets,
  contractId: await idsOf('contract'),
  vehicleId: await idsOf('vehicle'),
  vin: [made.vin, 'WBA0', '0000', 'ZZZ'],
  text: ['Fleet', '0000', 'zzz'],
  verifiedBefore: ['2999-01-01T00:00:00Z'],
  verifiedAfter: ['2000-01-01T00:00:00Z'],
  manufacturer: ['bmw', 'zzz'],
  name: ['Fleet', 'zzz'],
  vat: ['DE1'],
  pack: ['driving-log', 'x'],
  types: ['VEHICLE_ADDED', 'CONTRACT_CREATED'],
  since: ['2000-01-01T00:00:00Z'],
  until: ['2999-01-01T00:00:00Z'],
} satisfies Record<string, readonly unknown[]>;

const restPools = {
  id: [made.importId, ...pools.contractId, ...(await idsOf('webhook'))],
  limit: ['10', '100', '1000'],
  conditions: [JSON.stringify({ company: COMPANY })],
  q: pools.text,
  from: ['2026-10-01T00:00:00Z'],
  type: ['vehicle.added', 'contract.created', 'eligibility.changed'],
  historyId: await idsOf('history'),
};

const ids: Readonly<Record<string, readonly string[]>> = {
  Fleet: fleets,
  Contract: await idsOf('contract'),
  Import: [made.importId],
  Event: await idsOf('event'),
  Webhook: await idsOf('webhook'),
  Node: fleets,
};

/** A field of a document with its subfields. */
interface FieldTree {
  name: string;
  args: string;
  below: FieldTree[];
}
interface Tried<Request> {
  request: Request;
  ms: number;
  loop: number;
  bytes: number;
  code: string;
}

const DEEPEST = 4;
const chance = (share: number) => random() < share;

/** A literal for an argument or filter member; null if there is none. */
function textFor(name: string, type: GraphQLInputType): string | null {
  const named = getNamedType(type);
  if (isEnumType(named)) {
    const value = one(named.getValues()).name;
    return isListType(getNullableType(type)) ? `[${value}]` : value;
  }
  if (isInputObjectType(named)) {
    const members = Object.values(named.getFields()).filter(() => chance(name === 'filter' ? 0.25 : 1));
    const values = members.flatMap((member) => {
      const value = textFor(member.name, member.type);
      return value === null ? [] : `${member.name}: ${value}`;
    });
    return `{ ${values.join(', ')} }`;
  }
  const pool = (pools as Record<string, readonly unknown[]>)[name];
  return Array.isArray(pool) ? JSON.stringify(one(pool)) : null;
}

/** Arguments of a list: `first` or `last`, with any order and filter. */
function argumentsOf(field: GraphQLField<unknown, unknown>): string {
  const end = chance(0.8) ? 'first' : 'last';
  const given = field.args.flatMap(({ name, type }) => {
    if (/^(after|before|first|last)$/.test(name) && name !== end) return [];
    const own = name === 'id' ? ids[getNamedType(field.type).name] : undefined;
    if (own) return `id: ${JSON.stringify(one(own))}`;
    const value = name === end || isNonNullType(type) || chance(0.6) ? textFor(name, type) : null;
    return value === null ? [] : `${name}: ${value}`;
  });
  return given.length > 0 ? `(${given.join(', ')})` : '';
}

function grow(type: GraphQLObjectType, depth: number): FieldTree[] {
  const fields = Object.values(type.getFields()).filter(({ args, type: given }) =>
    args.every(
      ({ name, type: of }) => !isNonNullType(of) || name in pools || (name === 'id' && getNamedType(given).name in ids),
    ),
  );
  const leaves = fields.filter(({ type: of }) => isLeafType(getNamedType(of)));
  const objects = fields.filter(({ type: of }) => isObjectType(getNamedType(of)));
  const chosen = [
    ...leaves.filter(({ name }) => name === 'totalCount' || chance(0.2)).slice(0, 4),
    ...(depth < DEEPEST ? Array.from({ length: 1 + Math.floor(random() * 2) }, () => one(objects)) : []),
  ];
  const tree = [...new Set(chosen)].flatMap((field): FieldTree[] => {
    if (!field) return [];
    const below = getNamedType(field.type);
    const made = {
      name: field.name,
      args: argumentsOf(field),
      below: isObjectType(below) ? grow(below, depth + 1) : [],
    };
    return isObjectType(below) && made.below.length === 0 ? [] : [made];
  });
  return tree.length > 0 || leaves.length === 0 ? tree : [{ name: one(leaves).name, args: '', below: [] }];
}

const write = (fields: readonly FieldTree[]): string =>
  `{ ${fields.map(({ name, args, below }, at) => `a${at}: ${name}${args}${below.length > 0 ? ` ${write(below)}` : ''}`).join(' ')} }`;

const query = schema.getQueryType() as GraphQLObjectType;
const fresh = (): FieldTree => ({ name: 'query', args: '', below: grow(query, 0) });

/** Repeats a part, takes the largest page, or replaces a part. */
function varied(from: FieldTree): FieldTree {
  const root = structuredClone(from);
  const all: FieldTree[] = [];
  const collect = (tree: FieldTree) => {
    all.push(tree);
    tree.below.forEach(collect);
  };
  collect(root);
  const owner = one(all.filter(({ below }) => below.some((child) => child.below.length > 0)));
  const child = owner && one(owner.below.filter(({ below }) => below.length > 0));
  if (!owner || !child) return fresh();
  one([
    () => owner.below.push(...Array.from({ length: one([1, 3, 10]) }, () => structuredClone(child))),
    () => Object.assign(child, { args: child.args.replace(/(first|last): \d+/, `$1: ${one([10, 100, 1000])}`) }),
    () => root.below.push(...grow(query, 0)),
  ])();
  return root;
}

/** The longest time in milliseconds that another request waited while `work` ran. */
async function waited(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  const looks = (async () => {
    while (!isOver) {
      const began = performance.now();
      await fetch(`${gateway.url}/livez`);
      longest = Math.max(longest, performance.now() - began);
      await delay(5);
    }
  })();
  await work;
  isOver = true;
  await looks;
  return longest;
}

async function attempt<Request>(
  request: Request,
  send: (request: Request) => Promise<Response>,
): Promise<Tried<Request>> {
  const before = serverMicroseconds(world.server.data);
  const answer = send(request).then((got) => got.text());
  const loop = await waited(answer);
  const text = await answer;
  const ms = (serverMicroseconds(world.server.data) - before) / 1000;
  const [, code = ''] = /"code":"(\w+)"/.exec(text.slice(0, 2000)) ?? [];
  return { request, ms, loop, bytes: text.length, code };
}

interface Kind<Request> {
  fresh(): Request;
  varied(from: Request): Request;
  send(request: Request): Promise<Response>;
  print(request: Request): string;
}
const documents: Kind<FieldTree> = {
  fresh,
  varied,
  send: ({ below }) =>
    fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: write(below) }) }),
  print: ({ below }) => write(below),
};
const rest: Kind<RestRequest> = {
  ...restRequests(random, { ...pools, ...restPools }),
  send: (request) => fetch(`${gateway.url}${addressOf(request)}`, { headers: { ...headers, accept: request.accept } }),
  print: (request) => `${addressOf(request)} as ${request.accept}`,
};

const KEPT = 20;
async function climb<Request>({ fresh, varied, send, print }: Kind<Request>): Promise<void> {
  let best: Tried<Request>[] = [];
  let longest = 0;
  const codes = new Map<string, number>();
  for (let count = 0; count < Number(options.count); count++) {
    const tried = await attempt(best.length < 3 || chance(0.3) ? fresh() : varied(one(best).request), send);
    codes.set(tried.code, (codes.get(tried.code) ?? 0) + 1);
    longest = Math.max(longest, tried.loop);
    // A rejected request costs nothing and needs no variation.
    if (tried.code) continue;
    best = [...best, tried].sort((a, b) => b.ms - a.ms).slice(0, KEPT);
  }
  printTable(
    ['ms', 'loop', 'bytes'],
    best.map(({ ms, loop, bytes }) => [ms.toFixed(0), loop.toFixed(0), String(bytes)]),
  );
  console.log(`codes: ${JSON.stringify(Object.fromEntries(codes))}; the longest wait ${longest.toFixed(0)} ms`);
  for (const { request } of best.slice(0, 5)) console.log(`\n${print(request)}`);
}
await (options.of === 'rest' ? climb(rest) : climb(documents));
