import pg from 'pg';
import { distribute } from '../../src/database/citus.ts';
import type { DatabaseConfig } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';

/** Where a database is made: `url` is that of the coordinator. */
export interface Cluster {
  url: string;
  nodes: { host: string; port: number; coordinator: boolean }[];
  version: string;
}

/** The nodes of a cluster, as the database of this address knows them. */
export async function clusterAt(url: string): Promise<Cluster> {
  const rows = await run(
    url,
    `select nodename as host, nodeport as port, groupid = 0 as coordinator,
      citus_version() || ', ' || version() as version from pg_dist_node where noderole = 'primary' order by groupid`,
  );
  return { url, nodes: rows as Cluster['nodes'], version: String(rows[0]?.version) };
}

const at = ({ url }: Cluster, { host, port }: Cluster['nodes'][number], database: string) =>
  Object.assign(new URL(url), { hostname: host, port: String(port), pathname: database }).href;

/** Makes a database on every node, migrates it, and spreads its tables. Copies of a database are nothing that Citus has. */
export async function createOn(cluster: Cluster, name: string): Promise<string> {
  const { url, nodes } = cluster;
  await Promise.all(
    nodes.map(async (node) => {
      await run(at(cluster, node, 'postgres'), `create database ${name}`);
      await run(at(cluster, node, name), 'create extension if not exists btree_gist; create extension citus');
    }),
  );
  const own = Object.assign(new URL(url), { pathname: name }).href;
  await run(url, `alter database ${name} set citus.shard_count to 4`);
  // One at a time: each tells the nodes of all roles, whose rows all databases share ("tuple concurrently updated").
  const calls = nodes.map(
    ({ host, port, coordinator }) =>
      `${coordinator ? 'citus_set_coordinator_host' : 'citus_add_node'}('${host}', ${port})`,
  );
  const turn = new pg.Client(url);
  await turn.connect();
  try {
    await turn.query('select pg_advisory_lock(1)');
    for (const call of calls) await run(own, `select ${call}`);
  } finally {
    await turn.end();
  }
  const config: DatabaseConfig = { DATABASE_URL: own, DATABASE_READ_URLS: [], DATA_DIR: '' };
  const database = await openDatabase(config);
  await distribute(database).finally(() => database.close());
  return own;
}

export async function dropOn(cluster: Cluster, name: string): Promise<void> {
  for (const node of cluster.nodes)
    await run(at(cluster, node, 'postgres'), `drop database if exists ${name} with (force)`);
}

async function run(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(statement).finally(() => client.end());
  return rows ?? [];
}
