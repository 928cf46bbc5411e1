import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import type { Answer, Json } from './client.ts';
import { databaseConfig, databaseEnv } from './database.ts';
import { explainAll } from './explained.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { askGraphql, askRest, type Operation } from './operation.ts';
import { onGraphql, onRest } from './operations.ts';
import { looks } from './plans.ts';
import type { World } from './worlds.ts';

// Every operation of a large company, by the rows that PostgreSQL looks at, beside statistics that are made for it.

/** Rows of each kind, all of which an operation reads with the wrong index. */
export const ROWS = 20_000;
/** Rows that an operation may read: more than the largest page with its parts. */
const FEW = 5_000;

/** Inserts rows of every kind for a company, one statement after the other: each has half a minute. */
export async function addRows({ execute }: Pick<Gateway, 'execute'>, { company, fleetId }: World, letter: string) {
  for (const statement of [
    `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
       select new_uuid(), '${company}', '${fleetId}', 'WBA${letter}' || lpad(n::text, 13, '0'), 'bmw', now(), now()
       from generate_series(1, ${ROWS}) n order by random()`,
    `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
       select new_uuid(), '${company}', 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now()
       from generate_series(1, ${ROWS}) n order by random()`,
    `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
       select new_uuid(), company, fleet_id, id, 'Log', 'Log', 'driving-log', now(), now() + interval '1 year', now()
       from vehicle where company = '${company}' and vin like 'WBA${letter}%' order by random()`,
    `insert into event (company, position, type, fleet_id, vehicle_ids, vins, actor, at)
       select company, 1000 + row_number() over (), 'vehicle.added', fleet_id, array[id], array[vin], 'system', now()
       from vehicle where company = '${company}'`,
  ])
    await execute(statement);
}

/** Checks for success, as failures read little. 409 counts, since no vehicle is verified here and no contract has begun. */
function worked({ status, body }: Answer): void {
  const faults = body?.errors?.filter((one: Json) => one.extensions?.code !== 'CONTRACT_NOT_BEGUN') ?? [];
  expect(faults).toEqual([]);
  expect([200, 201, 202, 204, 409]).toContain(status);
}

/** Operations on a whole large fleet or all companies, with counts, or with a search of all names. */
const large = [
  'DELETE /fleets/:fleetId',
  'GET /providers',
  'GET /company',
  'GET /packs',
  'GET /search',
  'Query.contracts with a filter',
  'Query.events with a filter',
];

/** Writing operations come last; deletions come in this order. */
const taken = ['deleteContract', 'deleteContracts', 'deleteVehicle', 'deleteVehicles', 'deleteWebhook'];
const rank = ({ writes, field = '' }: Operation) => (writes ? 1 + taken.indexOf(field.split('.')[1] ?? '') + 1 : 0);
const smallOperations = <One extends Operation>(all: [string, One][]) =>
  all
    .filter(([name, { streams }]) => !streams && !large.includes(name))
    .toSorted(([, one], [, other]) => rank(one) - rank(other));

/** The operation's first case, or the first page of an unlimited list. */
const callOf = ({ cases }: Operation, world: World) =>
  (cases['its first page'] ?? Object.values(cases)[0])?.(world) ?? { path: '' };

/** A gateway whose statements are explained, if its database is a server. */
export async function startLookedAt() {
  const env = await databaseEnv();
  const isServer = env.DATABASE_URL !== undefined;
  const plans = isServer ? await explainAll(env) : [];
  const database = await openDatabase(databaseConfig(env));
  const gateway = await startGateway({ on: { env, database }, settings: { LIMIT_GRAPHQL_COST: '1000000' } });

  /** Reads of more than `most` rows while `work` runs, with their statements. */
  async function muchLookedAt(work: () => Promise<unknown>, most = FEW): Promise<Record<string, string>> {
    plans.length = 0;
    await work();
    const much = plans.flatMap((one) => {
      const found = Object.entries(looks(one.Plan)).filter(([, rows]) => rows > most);
      return found.map(([what, rows]) => [`${what}: ${rows}`, one['Query Text']]);
    });
    return Object.fromEntries(much);
  }
  /** Asks each operation of `rest` and `graphql`, since some change what they read. */
  function testOperations(what: string, worldsNow: () => Record<'rest' | 'graphql', World>, most?: number): void {
    const looks = async (ask: () => Promise<Answer>) =>
      expect(await muchLookedAt(async () => worked(await ask()), most)).toEqual({});
    test.each(smallOperations(onRest))(`%s ${what}, by REST`, (name, operation) => {
      const { rest } = worldsNow();
      return looks(() => askRest(rest.client, name, callOf(operation, rest)));
    });
    test.each(smallOperations(onGraphql))(`%s ${what}, by GraphQL`, (_, operation) => {
      const { graphql } = worldsNow();
      return looks(() => askGraphql(graphql.client, operation, callOf(operation, graphql)));
    });
  }
  return { gateway, isServer, muchLookedAt, testOperations };
}
