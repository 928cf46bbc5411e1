// What PostgreSQL 15, 16 and 17 read for each statement, compared with 18; needs `npm ci --prefix test/postgresql`.
import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { everyStatementText } from '../../src/core/sql/sql.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { READ_SETTINGS } from '../../src/database/session.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { explainAll } from '../support/explained.ts';
import { startGateway } from '../support/gateway.ts';
import { askGraphql, askRest } from '../support/operation.ts';
import { onGraphql, onRest } from '../support/operations.ts';
import { genericPlan } from '../support/plans.ts';
import { startServer } from '../support/postgres-server.ts';
import { newWorld } from '../support/worlds.ts';

// The plans of all statements, for any values, on each version of PostgreSQL beside those of the newest.

const NEWEST = '18';
const EARLIER = ['15', '16', '17'];
const there = existsSync(resolve('test/postgresql/node_modules'));
if (!there) console.log('Plans are not compared; `npm ci --prefix test/postgresql` brings PostgreSQL 15, 16 and 17.');

/** The same rows on every version, few enough to be all in the statistics: 1,000 vehicles each of 20 companies. */
const rows = `
  create function pg_temp.made(kind int, n bigint) returns uuid language sql as
    $$ select ('01900000-0000-7000-800' || kind || '-' || lpad(to_hex(n), 12, '0'))::uuid $$;
  insert into company (company, position) select 'company-' || n, 1000 from generate_series(1, 20) n;
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select pg_temp.made(1, n), 'company-' || 1 + n % 20, 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now()
    from generate_series(1, 2000) n;
  insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select pg_temp.made(2, n), 'company-' || 1 + n % 20, pg_temp.made(1, 1 + (n + 1999) % 2000),
      'WBA' || lpad(n::text, 14, '0'), 'bmw', now(), now() from generate_series(1, 20000) n;
  insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
    select pg_temp.made(3, n), company, fleet_id, id, 'Log', 'Log', 'driving-log', created_at, created_at + interval '1 year', created_at
    from (select row_number() over (order by id) as n, v.* from vehicle v) v;
  insert into event (id, company, position, type, fleet_id, vehicle_ids, vins, actor, at)
    select pg_temp.made(4, n), company, n, 'vehicle.added', fleet_id, array[id], array[vin], 'system', created_at
    from (select row_number() over (order by id) as n, v.* from vehicle v) v;
`;

interface Node {
  'Index Name'?: string;
  'Relation Name'?: string;
  Plans?: Node[];
}

/** The indexes that a plan reads, and the tables without one: what is done with rows in memory may differ. */
function readBy({ Plans = [], ...node }: Node): Set<string> {
  // A bitmap's table comes above its indexes.
  const table = Plans.length > 0 ? undefined : node['Relation Name'];
  const own = node['Index Name'] ?? table;
  return new Set([...(own ? [own] : []), ...Plans.flatMap((below) => [...readBy(below)])]);
}

/** What earlier versions read → what the newest reads instead, and why that is no fault. */
const known: Record<string, string> = {
  'activation_due_by_company → activation_program': 'the next date of a program, of a table without rows',
  'contract_by_activation → contract_by_name': 'all contracts of the company are counted, which each index has',
  'contract_by_end → contract_pkey': 'named contracts of the company, or those whose period includes now, by id',
  'contract_by_start → contract_pkey': 'named contracts of the company by id',
  'event_pkey → event_by_id': 'an event by its id, which is unique without the company too',
  'fleet_by_attention_count → fleet_by_name':
    'named fleets among the hundred of a company, with which each index begins',
  'fleet_pkey → fleet_by_name': 'ten named fleets of a hundred: since 18, to read all seems as cheap',
  'vehicle → ': 'counts of vehicles due in all companies, which are all of them here',
  'vehicle_by_status → vehicle_of_fleet_by_verified': 'vehicles of a fleet, where each index begins with it',
  'vehicle_by_vin → ': 'a whole VIN, found by the index of the company in place of the one of its fleets',
};

type Texts = { prepared: string[]; made: string[] };

/** Texts of prepared statements, which transactions send too, and those of reads that are made for their requests. */
async function everyText(): Promise<Texts> {
  const core = join(import.meta.dirname, '../../src/core');
  const modules = globSync('**/*.ts', { cwd: core });
  for (const file of modules) await import(pathToFileURL(join(core, file)).href);
  const env = await databaseEnv();
  const plans = await explainAll(env);
  const database = await openDatabase(databaseConfig(env));
  const gateway = await startGateway({ on: { env, database } });
  const [rest, graphql] = [await newWorld(gateway, 'acme'), await newWorld(gateway, 'globex')];
  plans.length = 0;
  for (const [name, { cases, streams, writes }] of onRest)
    if (!streams && !writes) for (const one of Object.values(cases)) await askRest(rest.client, name, one(rest));
  for (const [, operation] of onGraphql)
    if (!operation.streams && !operation.writes)
      for (const one of Object.values(operation.cases)) await askGraphql(graphql.client, operation, one(graphql));
  const prepared = new Set(everyStatementText());
  const made = new Set(plans.map((one) => one['Query Text'])).difference(prepared);
  return { prepared: [...prepared], made: [...made].filter((text) => text.startsWith('select')) };
}

/** What the plan of each text reads on this version. */
async function readsOf(version: string, { prepared, made }: Texts): Promise<Map<string, Set<string>>> {
  const server = await startServer({}, { version });
  const client = new pg.Client(server.admin);
  const found = new Map<string, Set<string>>();
  try {
    const database = await openDatabase({ DATABASE_URL: server.url, DATABASE_READ_URLS: [], DATA_DIR: '' });
    await database.close();
    await client.connect();
    await client.query(rows);
    await client.query('vacuum analyze');
    const run = async (statement: string) => (await client.query(statement)).rows;
    await run('begin');
    for (const text of prepared) found.set(text, readBy(await genericPlan<Node>(run, text)));
    for (const [name, value] of Object.entries(READ_SETTINGS)) await run(`set local ${name} = ${value}`);
    for (const text of made) found.set(text, readBy(await genericPlan<Node>(run, text)));
    return found;
  } finally {
    await client.end();
    await server.stop();
  }
}

describe.skipIf(!there || inject('database').kind === 'embedded')(
  'every statement reads what the newest version reads',
  () => {
    let texts: Texts;
    let newest: Map<string, Set<string>>;
    beforeAll(async () => {
      texts = await everyText();
      newest = await readsOf(NEWEST, texts);
    });

    test.each(EARLIER)('version %s', async (version) => {
      const earlier = await readsOf(version, texts);
      const changes = [...newest].map(([text, now]) => {
        const before = earlier.get(text) as Set<string>;
        const change = `${[...before.difference(now)].toSorted()} → ${[...now.difference(before)].toSorted()}`;
        return [change, text] as const;
      });
      expect(changes.filter(([change]) => change !== ' → ' && !(change in known))).toEqual([]);
    });
  },
);
