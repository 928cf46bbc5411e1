import { MikroORM } from '@mikro-orm/postgresql';
import { PostgresDialect } from 'kysely';
import { nameOf } from './address.ts';
import { type Database, type DatabaseConfig, StartError, type TellOperator } from './database.ts';
import { indexChecks } from './embedded-indexes.ts';
import { openChannelEmitter } from './listening-connection.ts';
import { applyMigrations, commonDatabaseMembers, ormOptions } from './orm.ts';
import { PGlitePool } from './pglite.ts';
import { connectServer } from './postgresql.ts';
import { afterCommit } from './transactions.ts';

/** Opens the database that the settings name and brings it up to date; throws when it cannot be reached, or a newer version has changed its tables. */
export async function openDatabase(config: DatabaseConfig, tell?: TellOperator): Promise<Database> {
  const database = await connectDatabase(config, tell);
  try {
    await database.migrate(tell);
    const fault = await database.unready();
    if (fault !== null) throw new StartError(fault);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** The database that the settings name, without its credentials. */
export const databaseName = ({ DATABASE_URL, DATA_DIR }: Pick<DatabaseConfig, 'DATABASE_URL' | 'DATA_DIR'>): string =>
  DATABASE_URL ? `the database at ${nameOf(DATABASE_URL)}` : `the embedded database in ${DATA_DIR}`;

/** Opens the database as it is; throws when it cannot be reached, or when another process has the embedded one. */
export async function connectDatabase(config: DatabaseConfig, tell?: TellOperator): Promise<Database> {
  return config.DATABASE_URL ? connectServer(config.DATABASE_URL, config, tell) : openEmbedded(config.DATA_DIR, tell);
}

async function openEmbedded(dataDir: string, tell: TellOperator = () => {}): Promise<Database> {
  const pool = await PGlitePool.open(dataDir);
  const channels = openChannelEmitter();
  const dialect = new PostgresDialect({ pool });
  const orm = await MikroORM.init({ ...ormOptions, dbName: 'postgres', driverOptions: () => dialect });
  const send = pool.send.bind(pool);
  return {
    ...commonDatabaseMembers(orm, (statement) => send(statement, [])),
    kind: 'embedded',
    indexes: indexChecks(pool, tell),
    send,
    read: (statement, values, { asTexts } = {}) => send(statement, values, asTexts),
    add: send,
    slowRead: (statement, values, { asTexts }) => send(statement, values, asTexts),
    async listen(channel, onNotify) {
      channels.on(channel, onNotify);
      return () => channels.off(channel, onNotify);
    },
    notify: (channel, payload) => afterCommit(() => channels.emit(channel, payload)),
    migrate: (tell = () => {}) => applyMigrations(orm, tell),
    async close() {
      await orm.close();
      await pool.end();
    },
  };
}
