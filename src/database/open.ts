import { MikroORM } from '@mikro-orm/postgresql';
import { PostgresDialect } from 'kysely';
import type { Database, DatabaseConfig, Tell } from './database.ts';
import { Channels } from './listening-connection.ts';
import { afterCommit, applyMigrations, common, options } from './orm.ts';
import { PGlitePool } from './pglite.ts';
import { connectServer } from './server.ts';

/** Opens the database that the settings name and brings it up to date; throws when it cannot be reached. */
export async function openDatabase(config: DatabaseConfig, tell?: Tell): Promise<Database> {
  const database = await connectDatabase(config);
  try {
    await database.migrate(tell);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Opens the database as it is; throws when it cannot be reached, or when another process has the embedded one. */
export async function connectDatabase(config: DatabaseConfig): Promise<Database> {
  return config.DATABASE_URL ? connectServer(config.DATABASE_URL, config) : openEmbedded(config.DATA_DIR);
}

/** PostgreSQL inside this process, which is the only one; throws when another has the folder. */
async function openEmbedded(dataDir: string): Promise<Database> {
  const pool = await PGlitePool.open(dataDir);
  const channels = new Channels();
  const dialect = new PostgresDialect({ pool });
  const orm = await MikroORM.init({ ...options, dbName: 'postgres', driverOptions: () => dialect });
  const send: Database['send'] = async (statement, values) => {
    const connection = await pool.connect();
    return (await connection.query(statement, values).finally(() => connection.release())).rows;
  };
  return {
    ...common(orm, (statement) => send(statement, [])),
    kind: 'embedded',
    send,
    read: send,
    rows: (statement, values) => pool.rows(statement, values),
    slowRows: (statement, values) => pool.rows(statement, values),
    add: send,
    async listen(channel, onNotify) {
      const leave = channels.listen(channel, onNotify);
      return async () => void leave();
    },
    notify: (channel, payload) => afterCommit(() => channels.deliver(channel, payload)),
    migrate: (tell = () => {}) => applyMigrations(orm, tell),
    async close() {
      await orm.close();
      await pool.end();
    },
  };
}
