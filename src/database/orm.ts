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
    // Each is a transaction of its own, so that locks are held for one step, and indexes can be built beside the work.
    allOrNothing: false,
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

/** How long a migration waits for a lock (ms): whoever comes after it waits behind it. */
export const MIGRATION_LOCK_TIMEOUT = 250;
/** Every so many attempts it waits for longer: autovacuum leaves a table to others only after a second. */
const [PATIENT, PATIENT_LOCK_TIMEOUT] = [10, 1500];
const ATTEMPTS = 1000;

/** Applies what is pending and gives its names. A step that is kept from a lock gives way and tries again, for 20 minutes. */
export async function applyMigrations(orm: MikroORM): Promise<string[]> {
  const pending = await orm.migrator.getPending();
  for (let attempt = 1; ; attempt++) {
    const patient = attempt % PATIENT === 0;
    if (patient) await orm.em.getConnection().execute(`set lock_timeout = ${PATIENT_LOCK_TIMEOUT}`);
    try {
      await orm.migrator.up();
      return pending.map(({ name }) => name);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if ((code !== '55P03' && code !== '40P01') || attempt === ATTEMPTS) throw error;
    }
    if (patient) await orm.em.getConnection().execute('reset lock_timeout');
    await delay(1000);
  }
}
