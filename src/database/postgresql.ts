import { setTimeout as delay } from 'node:timers/promises';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { PoolConfig } from 'pg';
import { nameOf } from './address.ts';
import { type Database, type DatabaseConfig, StartError, type TellOperator } from './database.ts';
import { ListeningConnection } from './listening-connection.ts';
import { applyMigrations, commonDatabaseMembers, MIGRATION_LOCK_TIMEOUT, ormOptions } from './orm.ts';
import { openPipelines } from './pipelines.ts';
import { checkPlace, checkRights, type FitPlace, PLACE, type Place } from './place.ts';
import { isOn, READ_ONLY } from './postgres-connection.ts';
import { reasonOf } from './reason.ts';
import { ServerPool } from './server-pool.ts';
import { ServerWatch } from './server-watch.ts';
import { GENERIC_PLAN, READ_SETTINGS, session } from './session.ts';
import { faultOf, ReadOnlyError } from './sqlstate.ts';
import { afterCommit } from './transactions.ts';

/** The connections to one server. */
function openServer(url: string, tell: TellOperator = () => {}, isReplica = false) {
  const watch = new ServerWatch(session(url), { name: nameOf(url), isReplica, tell });
  const pool = new ServerPool(watch, pooled(url));
  const reading = { ...session(url, READ_SETTINGS), pipeline: true };
  const shortReads = openPipelines(watch, reading, { most: MOST_READING, repeatable: true });
  const largePages = openPipelines(watch, reading, { most: 1, repeatable: true });
  const close = async () => {
    shortReads.close();
    largePages.close();
    await pool.end();
    watch.close();
  };
  return { url, watch, pool, shortReads, largePages, close };
}

type Connections = ReturnType<typeof openServer>;

export async function connectServer(url: string, config: DatabaseConfig, tell?: TellOperator): Promise<Database> {
  const primary = openServer(url, tell);
  const replicas = config.DATABASE_READ_URLS.map((replica) => openServer(replica, tell, true));
  const direct = config.DATABASE_DIRECT_URL ? openServer(config.DATABASE_DIRECT_URL, tell) : primary;
  const closeServers = () => Promise.all([primary, ...replicas, direct].map((server) => server.close()));
  const listening = new ListeningConnection(session(direct.url), direct.watch.Client);
  let options: Options;
  try {
    await listening.connect().catch((error) => Promise.reject(notReached(direct.url, error)));
    options = optionsIn(await placeOf(primary, tell), primary.pool);
  } catch (error) {
    await Promise.all([listening.close(), closeServers()]);
    throw error;
  }
  // Readiness has a connection of its own, so that it never waits for one.
  const probing = new ServerPool(primary.watch, { ...pooled(url), max: 1 });
  // A statement that waits for a lock must not delay the next ones for long.
  const addition = { ...session(url, { ...GENERIC_PLAN, lock_timeout: '20ms' }), pipeline: true };
  const additions = openPipelines(primary.watch, addition, { most: MOST_ADDING, repeatable: false });
  const orm = await MikroORM.init(options);
  /** Has each kind of connection answer. A pool that is busy answers by what it does. */
  const ask = async () => {
    const kinds = [
      probing,
      primary.shortReads,
      primary.largePages,
      additions,
      ...(primary.pool.usage.waiting > 0 ? [] : [primary.pool]),
    ];
    const found = await Promise.all(kinds.map((kind) => kind.send(READ_ONLY, [])));
    if (found.some(isOn)) primary.watch.noteReadOnly(true);
    if (primary.watch.isReadOnly || direct.watch.isReadOnly || (await listening.askReadOnly()))
      throw new ReadOnlyError();
  };
  let turn = 0;
  /** A replica, or the primary where none can be reached. */
  const nextReader = () => {
    const readers = replicas.filter(({ watch }) => !watch.isAway);
    return readers[turn++ % readers.length] ?? primary;
  };
  return {
    ...commonDatabaseMembers(
      orm,
      (statement) => probing.send(statement, []),
      () => ask().catch(ask),
    ),
    kind: 'postgresql',
    send: (statement, values) => primary.pool.send(statement, values),
    read: (statement, values, { asTexts, isLargePage = false } = {}) =>
      nextReader()[isLargePage ? 'largePages' : 'shortReads'].send(statement, values, asTexts),
    async slowRead(statement, values, how) {
      const { pool } = how.newest ? primary : nextReader();
      try {
        return await pool.read(statement, values, how);
      } catch (error) {
        // The primary answers for a replica that cannot be reached.
        const { is = 'slow' } = faultOf(error) ?? {};
        if (pool === primary.pool || how.signal?.aborted || is === 'slow') throw error;
        return primary.pool.read(statement, values, how);
      }
    },
    add: (statement, values) => additions.send(statement, values),
    connections: () => ({
      ...primary.pool.usage,
      isReadOnly: primary.watch.isReadOnly,
      lostReplicas: replicas.filter(({ watch }) => watch.isLost).length,
    }),
    listen: (channel, onNotify) => listening.listen(channel, onNotify),
    notify: (channel, payload) => afterCommit(() => listening.notify(channel, payload)),
    migrate: (tell = () => {}) => migrateServer(direct, tell),
    async close() {
      additions.close();
      await listening.close();
      await orm.close();
      await probing.end();
      await closeServers();
    },
  };
}

async function placeOf({ url, pool }: Pick<Connections, 'url' | 'pool'>, tell?: TellOperator): Promise<FitPlace> {
  const [place] = await pool.send(PLACE, []).catch((error) => Promise.reject(notReached(url, error)));
  return checkPlace(place as Place, url, tell);
}

/** MikroORM's options in a place: by itself, it looks for tables in `public`, wherever search_path has them made. */
const optionsIn = ({ dbName, schema }: FitPlace, pool: ServerPool): Options => ({
  ...ormOptions,
  dbName,
  schema,
  driverOptions: () => pool.dialect,
});

/** MikroORM's options for its own tools. */
export async function toolOptions(url: string): Promise<Options> {
  const { watch } = openServer(url);
  // MikroORM reads definitions of indexes.
  const pool = new ServerPool(watch, session(url, { quote_all_identifiers: 'off' }));
  return optionsIn(await placeOf({ url, pool }), pool);
}

function notReached(url: string, error: unknown): StartError {
  return new StartError(`Cannot connect to the database at ${nameOf(url)}: ${reasonOf(error)}`, { cause: error });
}

/** Few, since statements save by sharing packets; two, so that a slow one does not hold up all others. Large pages have one more. */
const MOST_READING = 2;
/** More, since each waits for the disk, and those that commit together wait together. */
const MOST_ADDING = 8;

/** Any number will do, as long as every process of the service has the same. */
const lockKey = 4_071_928;

/** Several processes may start at once: one migrates, the others wait. */
async function migrateServer({ url, watch }: Connections, tell: TellOperator): Promise<string[]> {
  const limits = { statement_timeout: '0', lock_timeout: `${MIGRATION_LOCK_TIMEOUT}ms` };
  const pool = new ServerPool(watch, { ...session(url, limits), max: 2 });
  try {
    const place = await placeOf({ url, pool });
    checkRights(place);
    const tools = { entities: [], discovery: { warnWhenNoEntities: false } };
    const orm = await MikroORM.init({ ...optionsIn(place, pool), ...tools });
    return await orm.em
      .getKysely()
      .connection()
      .execute(async (holder) => {
        // Polled: an index that is built concurrently waits for every running statement.
        const held = () => sql<{ held: boolean }>`select pg_try_advisory_lock(${lockKey}) as held`.execute(holder);
        for (let waits = 0; !(await held()).rows[0]?.held; waits++) {
          if (waits === 4) tell('Another process migrates the database. This one waits for it.');
          await delay(250);
        }
        return applyMigrations(orm, tell);
      });
  } finally {
    // Ends the holder's connection, and with it the lock.
    await pool.end();
  }
}

/** Half a second in a pipeline, 2 s for a connection, 3 s for a lock: no request waits longer than 6 s in vain. */
const pooled = (url: string): PoolConfig => ({
  ...session(url),
  // Statements that need no answers of each other share a packet.
  pipeline: true,
  max: 14,
  connectionTimeoutMillis: 2_000,
});
