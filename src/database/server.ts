import { setTimeout as delay } from 'node:timers/promises';
import { MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import pg, { type ClientConfig, type PoolConfig } from 'pg';
import type { Database, DatabaseConfig, Tell } from './database.ts';
import { ListeningConnection } from './listening-connection.ts';
import { afterCommit, applyMigrations, common, MIGRATION_LOCK_TIMEOUT, options } from './orm.ts';
import { Pipelines } from './pipelines.ts';
import { READ_IN_ORDER } from './planner-settings.ts';
import { ServerPool } from './server-pool.ts';
import { ServerWatch } from './server-watch.ts';
import { StartError } from './start-error.ts';

type ServerConfig = Pick<DatabaseConfig, 'DATABASE_READ_URLS' | 'DATABASE_DIRECT_URL'>;

/** An address whose connections are watched. */
interface Watched {
  url: string;
  watch: ServerWatch;
}
const watched = (url: string): Watched => ({ url, watch: new ServerWatch(session(url)) });

/** Opens a database on a PostgreSQL server; throws when it cannot be reached. */
export async function connectServer(url: string, config: ServerConfig): Promise<Database> {
  const primary = watched(url);
  const replicas = config.DATABASE_READ_URLS.map(watched);
  const direct = config.DATABASE_DIRECT_URL ? watched(config.DATABASE_DIRECT_URL) : primary;
  const closeWatches = () => {
    for (const { watch } of [primary, ...replicas, direct]) watch.close();
  };
  const listening = new ListeningConnection(session(direct.url), direct.watch.Client);
  try {
    await listening.connect();
  } catch (error) {
    closeWatches();
    throw notReached(direct.url, error);
  }
  // Readiness has a connection of its own, so that it never waits for one.
  const probing = new ServerPool(primary.watch, { ...pooled(url), max: 1 });
  const pool = new ServerPool(primary.watch, pooled(primary.url));
  const replicaPools = replicas.map(({ url, watch }) => new ServerPool(watch, pooled(url)));
  const reading = inTurn(replicaPools.length > 0 ? replicaPools : [pool]);
  const orm = await MikroORM.init({ ...options, clientUrl: primary.url, driverOptions: () => pool.dialect });
  pool.begin = BEGIN;
  for (const one of [pool, ...replicaPools]) one.readingSettings = READ_SLOWLY;
  const pipelines = openPipelines(primary, replicas);
  /** Reads go to the primary where the replica whose turn it is cannot be reached. */
  const read = async <T>(ask: (from: ServerPool) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const from = reading();
    try {
      return await ask(from);
    } catch (error) {
      if (from === pool || signal?.aborted || !isUnreached(error)) throw error;
      return ask(pool);
    }
  };
  const send: Database['send'] = (statement, values, { replica = false } = {}) => {
    const ask = (from: ServerPool) => from.send(statement, values);
    return replica ? read(ask) : ask(pool);
  };
  return {
    ...common(orm, (statement) => probing.send(statement, [])),
    kind: 'postgresql',
    send,
    read: pipelines.read,
    rows: async (statement, values, { newest = false } = {}) =>
      newest && replicas.length > 0 ? null : pipelines.rows(statement, values),
    slowRows(statement, values, how) {
      const ask = (from: ServerPool) => from.rows(statement, values, how);
      return how.newest ? ask(pool) : read(ask, how.signal);
    },
    add: pipelines.add,
    connections: () => pool.usage,
    listen: (channel, onNotify) => listening.listen(channel, onNotify),
    notify: (channel, payload) => afterCommit(() => listening.notify(channel, payload)),
    migrate: (tell = () => {}) => migrateServer(direct.url, tell),
    async close() {
      pipelines.close();
      await listening.close();
      await orm.close();
      await Promise.all([pool, probing, ...replicaPools].map((one) => one.end()));
      closeWatches();
    },
  };
}

/** Whether the server or the way to it is gone, rather than that it has answered. */
const isUnreached = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || /^(?:08|57P)/.test(error.code ?? '');

/** Gives one after the other, again and again. */
function inTurn<One>(ones: readonly One[]): () => One {
  let turn = 0;
  return () => ones[turn++ % ones.length] as One;
}

const READ_SLOWLY = ['plan_cache_mode=force_generic_plan', ...READ_IN_ORDER];

function notReached(url: string, error: unknown): StartError {
  const { host, pathname } = new URL(url);
  const reason = error instanceof Error ? error.message || ('code' in error && error.code) : error;
  return new StartError(`Cannot connect to the database at ${host}${pathname}: ${reason}`, { cause: error });
}

/**
 * In a transaction each statement has one plan, for any values: what the planner's statistics do not know of, such as a new
 * company, it takes for nothing, and then reads all of it again for each row that is looked up.
 */
const BEGIN = 'begin; set local plan_cache_mode = force_generic_plan';

/** Few, since many statements in one packet is what saves; two, so that one that takes long does not hold up all others. */
const READING = 2;
/** More, since each of these waits for the disk, and those that commit at the same time wait together. */
const ADDING = 8;

/** Pipelines for short statements: additions, and reads, from the replicas in turn if there are any. */
function openPipelines(primary: Watched, replicas: readonly Watched[]) {
  const reads = (replicas.length > 0 ? replicas : [primary]).map(
    ({ url, watch }) =>
      new Pipelines(watch, { ...session(url, READ_IN_ORDER), ...bounds }, { connections: READING, repeatable: true }),
  );
  // A statement that waits for a lock must not delay those behind it for long.
  const addition: ClientConfig = { ...session(primary.url), ...bounds, lock_timeout: 50 };
  const additions = new Pipelines(primary.watch, addition, {
    connections: ADDING,
    repeatable: false,
  });
  const next = inTurn(reads);
  return {
    read: (statement: string, values: readonly unknown[]) => next().send(statement, values),
    rows: (statement: string, values: readonly unknown[]) => next().rows(statement, values),
    add: (statement: string, values: readonly unknown[]) => additions.send(statement, values),
    close() {
      for (const each of [...reads, additions]) each.close();
    },
  };
}

/** Any number will do, as long as every process of the service has the same. */
const migrationLock = 4_071_928;

/** Several processes may start at once: one migrates, the others wait, on connections whose statements may take long. */
async function migrateServer(url: string, tell: Tell): Promise<string[]> {
  const orm = await MikroORM.init({
    ...options,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: url,
    pool: { min: 0, max: 2 },
    // Whatever the role is limited to.
    driverOptions: {
      ...session(url),
      options: `-c jit=off -c statement_timeout=0 -c lock_timeout=${MIGRATION_LOCK_TIMEOUT}`,
    },
  });
  try {
    return await orm.em
      .getKysely()
      .connection()
      .execute(async (holder) => {
        // Asked for again and again: an index that is built beside the work waits for every statement that runs.
        const held = () =>
          sql<{ held: boolean }>`select pg_try_advisory_lock(${migrationLock}) as held`.execute(holder);
        for (let waits = 0; !(await held()).rows[0]?.held; waits++) {
          if (waits === 4) tell('Another process migrates the database. This one waits for it.');
          await delay(250);
        }
        return applyMigrations(orm, tell);
      });
  } finally {
    // Ends the holder's connection, and with it the lock.
    await orm.close();
  }
}

/** How long a statement of a request may run, and wait for somebody else's. */
const bounds: ClientConfig = { statement_timeout: 30_000, lock_timeout: 3_000 };

/** With half a second in a pipeline, 2 s for a connection and 3 s for a lock, nobody waits longer than 6 s in vain. */
const pooled = (url: string): PoolConfig => ({ ...session(url), ...bounds, max: 14, connectionTimeoutMillis: 2_000 });

/** How every connection to a server is made. A lost server is noticed in about 20 seconds on an idle connection. */
function session(url: string, settings: readonly string[] = []): ClientConfig {
  return {
    connectionString: url,
    application_name: 'fleet-gateway',
    // Compiling a plan pays for statements of seconds, and costs short ones ten times what they take.
    options: ['jit=off', ...settings].map((setting) => `-c ${setting}`).join(' '),
    connectionTimeoutMillis: 3_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}
