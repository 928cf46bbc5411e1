import { MikroORM } from '@mikro-orm/postgresql';
import { PostgresDialect } from 'kysely';
import type { Database } from './database.ts';
import { Channels } from './listening-connection.ts';
import { afterCommit, applyMigrations, common, options } from './orm.ts';
import { PGlitePool } from './pglite.ts';

/** PostgreSQL inside this process, which is the only one; throws when another has the folder. */
export async function openEmbedded(dataDir: string): Promise<Database> {
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
    isCluster: false,
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
    migrate: () => applyMigrations(orm),
    async close() {
      await orm.close();
      await pool.end();
    },
  };
}
