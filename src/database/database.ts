import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import { PostgresDialect, sql } from 'kysely';
import type { ClientConfig, Pool } from 'pg';
import type { Config } from '../config.ts';
import { entities, routines } from '../entities/index.ts';
import { Names } from '../entities/names.ts';
import { ListeningConnection, NotificationListener } from './notifications.ts';
import { insideTransaction, PGlitePool } from './pglite.ts';
import { Pipelines } from './pipelines.ts';
import { ServerWatch } from './server-watch.ts';
import { StartError } from './start-error.ts';
import { traceStatement } from './traced-statement.ts';

/** The open database; the same for the embedded one and for a server. */
export interface Database {
  readonly orm: MikroORM;
  readonly kind: 'embedded' | 'postgresql';
  /**
   * Calls back for each NOTIFY on the channel, from any process, until the returned function is called. After a lost
   * connection it calls back once with '', since notifications may have been missed meanwhile.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
  /** Applies what is pending, one process at a time and all or nothing; gives the names of what it applied. */
  migrate(): Promise<string[]>;
  pendingMigrations(): Promise<string[]>;
  /** Runs a statement outside of transactions, straight on the pool of the primary. Gives its rows. */
  send(statement: string, values: readonly unknown[]): Promise<unknown[]>;
  /**
   * Runs a short read outside of transactions, where reads go: a replica if there is one, else the primary. Many of them
   * share a connection (docs/decisions/pipelines.md). Gives its rows.
   */
  read(statement: string, values: readonly unknown[]): Promise<unknown[]>;
  /** Runs, in the same way on the primary, a short statement that adds rows and waits for nobody else's. Gives its rows. */
  add(statement: string, values: readonly unknown[]): Promise<unknown[]>;
  /** How the connections of this process's pool are used; only where there is a pool. */
  connections?(): { idle: number; used: number; waiting: number };
  /** True when the database answers within 5 seconds and no migration is pending. */
  ready(): Promise<boolean>;
  close(): Promise<void>;
}

export type DatabaseConfig = Pick<Config, 'DATABASE_URL' | 'DATABASE_READ_URLS' | 'DATA_DIR'>;

/** Opens the database that the settings name and brings it up to date; throws when it cannot be reached. */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const database = await connectDatabase(config);
  try {
    await database.migrate();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Opens the database as it is; throws when it cannot be reached, or when another process has the embedded one. */
export async function connectDatabase(config: DatabaseConfig): Promise<Database> {
  return config.DATABASE_URL
    ? connectServer(config.DATABASE_URL, config.DATABASE_READ_URLS)
    : openEmbedded(config.DATA_DIR);
}

/** What MikroORM is to know whatever the database; mikro-orm.config.ts hands it to MikroORM's own tools. */
export const options: Options = {
  entities,
  routines,
  namingStrategy: Names,
  extensions: [Migrator],
  forceUtcTimezone: true,
  preferTs: true,
  migrations: {
    path: fileURLToPath(new URL('../migrations', import.meta.url)),
    glob: 'Migration*.ts',
    snapshot: false,
    silent: true,
  },
};

async function openEmbedded(dataDir: string): Promise<Database> {
  const pool = await PGlitePool.open(dataDir, (channel, payload) => changes.deliver(channel, payload));
  const changes = new NotificationListener(async (statement) => {
    const connection = await pool.connect();
    await connection.query(statement, []).finally(() => connection.release());
  });
  const dialect = new PostgresDialect({ pool });
  const orm = await MikroORM.init({ ...options, dbName: 'postgres', driverOptions: () => dialect });
  const connection = orm.em.getConnection();
  const transactional = connection.transactional.bind(connection);
  connection.transactional = (body, settings) => transactional((trx) => insideTransaction(() => body(trx)), settings);
  const send: Database['send'] = async (statement, values) => {
    const connection = await pool.connect();
    return (await connection.query(statement, values).finally(() => connection.release())).rows;
  };
  return {
    ...common(orm),
    kind: 'embedded',
    send,
    read: send,
    add: send,
    listen: (channel, onNotify) => changes.listen(channel, onNotify),
    migrate: () => applyMigrations(orm),
    async close() {
      await orm.close();
      await pool.end();
    },
  };
}

async function connectServer(url: string, readUrls: readonly string[]): Promise<Database> {
  const watch = new ServerWatch(session(url));
  const replicas = readUrls.map((readUrl) => ({ readUrl, watch: new ServerWatch(session(readUrl)) }));
  const readFrom = replicas.length > 0 ? replicas : [{ readUrl: url, watch }];
  const reads = readFrom.map((one) => new Pipelines(one.watch.Client, { ...session(one.readUrl), ...bounds }, true));
  // What is added waits for nobody; whoever does all the same must not hold up those behind it for long.
  const additions = new Pipelines(watch.Client, { ...session(url), ...bounds, lock_timeout: 50 }, false);
  const closeWatches = () => {
    for (const each of [watch, ...replicas.map((replica) => replica.watch)]) each.close();
  };
  const listening = new ListeningConnection(session(url), watch.Client);
  try {
    await listening.connect();
  } catch (error) {
    closeWatches();
    const { host, pathname } = new URL(url);
    const reason = error instanceof Error ? error.message || ('code' in error && error.code) : error;
    throw new StartError(`Cannot connect to the database at ${host}${pathname}: ${reason}`, { cause: error });
  }
  let pool: Pool | undefined;
  const onPoolCreated = (created: Pool) => {
    pool = created;
  };
  const orm = await MikroORM.init({
    ...options,
    clientUrl: url,
    pool: { min: 0, max: 10 },
    driverOptions: { ...pooled(url, watch), onPoolCreated },
    // Replicas lag behind: only `read` in core/sql/sql.ts goes there.
    preferReadReplicas: false,
    replicas: replicas.map(({ readUrl, watch }) => ({ clientUrl: readUrl, driverOptions: pooled(readUrl, watch) })),
  });
  // The pool comes with the client.
  orm.em.getConnection().getClient();
  // The pool sends with a callback, which PreparingClient does not trace.
  const send: Database['send'] = async (statement, values) =>
    (await traceStatement(statement, () => (pool as Pool).query(statement, [...values]))).rows;
  let turn = 0;
  return {
    ...common(orm),
    kind: 'postgresql',
    send,
    async read(statement, values) {
      turn = (turn + 1) % reads.length;
      return (await reads[turn]?.send(statement, values)) ?? send(statement, values);
    },
    add: async (statement, values) => (await additions.send(statement, values)) ?? send(statement, values),
    connections() {
      const { totalCount = 0, idleCount = 0, waitingCount = 0 } = pool ?? {};
      return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
    },
    listen: (channel, onNotify) => listening.changes.listen(channel, onNotify),
    migrate: () => migrateServer(url),
    async close() {
      for (const each of [...reads, additions]) each.close();
      await listening.close();
      await orm.close();
      closeWatches();
    },
  };
}

function common(orm: MikroORM): Pick<Database, 'orm' | 'pendingMigrations' | 'ready'> {
  const pendingMigrations = async () => (await orm.migrator.getPending()).map(({ name }) => name);
  return {
    orm,
    pendingMigrations,
    async ready() {
      const timer = new AbortController();
      const upToDate = pendingMigrations().then(
        (pending) => pending.length === 0,
        () => false,
      );
      const tooLate = delay(5_000, false, { signal: timer.signal }).catch(() => false);
      return Promise.race([upToDate, tooLate]).finally(() => timer.abort());
    },
  };
}

async function applyMigrations(orm: MikroORM): Promise<string[]> {
  return (await orm.migrator.up()).map(({ name }) => name);
}

/** Any number will do, as long as every process of the service has the same. */
const migrationLock = 4_071_926;

/** Several processes may start at once: one migrates, the others wait, on connections whose statements may take long. */
async function migrateServer(url: string): Promise<string[]> {
  const orm = await MikroORM.init({
    ...options,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: url,
    pool: { min: 0, max: 2 },
    driverOptions: session(url),
  });
  try {
    return await orm.em
      .getKysely()
      .connection()
      .execute(async (holder) => {
        await sql`select pg_advisory_lock(${migrationLock})`.execute(holder);
        return applyMigrations(orm);
      });
  } finally {
    // Ends the holder's connection, and with it the lock.
    await orm.close();
  }
}

/** How long a statement of a request may run, and wait for somebody else's. */
const bounds: ClientConfig = { statement_timeout: 30_000, lock_timeout: 3_000 };

/** Before that, 2 seconds for a connection, and half a second in a pipeline: nobody waits longer than 6 for nothing. */
const pooled = (url: string, { Client }: ServerWatch) => ({
  ...session(url),
  ...bounds,
  connectionTimeoutMillis: 2_000,
  Client,
});

/** How every connection to a server is made. A lost server is noticed in about 20 seconds on an idle connection. */
function session(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'fleet-gateway',
    connectionTimeoutMillis: 3_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}
