import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import type { MikroORM, Options } from '@mikro-orm/postgresql';
import { entities, routines } from '../entities/index.ts';
import { Names } from '../entities/names.ts';
import type { Database } from './database.ts';

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

/** What both databases do by MikroORM. */
export function common(orm: MikroORM): Pick<Database, 'orm' | 'pendingMigrations' | 'ready'> {
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

export async function applyMigrations(orm: MikroORM): Promise<string[]> {
  return (await orm.migrator.up()).map(({ name }) => name);
}
