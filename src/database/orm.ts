import { globSync } from 'node:fs';
import { join, parse } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Migrator } from '@mikro-orm/migrations';
import type { MikroORM, Options } from '@mikro-orm/postgresql';
import packageJson from '../../package.json' with { type: 'json' };
import { Names } from '../entities/columns.ts';
import { entities, routines } from '../entities/index.ts';
import { StartError, type TellOperator } from './database.ts';
import { reasonOf } from './reason.ts';
import { faultOf } from './sqlstate.ts';
import { transactions } from './transactions.ts';

const folder = join(import.meta.dirname, '../migrations');
const MIGRATIONS = 'Migration*.ts';

/** Options for any database; mikro-orm.config.ts hands them to MikroORM's own tools. */
export const ormOptions: Options = {
  entities,
  routines,
  namingStrategy: Names,
  extensions: [Migrator],
  subscribers: [transactions],
  forceUtcTimezone: true,
  preferTs: true,
  migrations: {
    path: folder,
    glob: MIGRATIONS,
    snapshot: false,
    // Each is a transaction of its own, so that locks are held for one step, and indexes can be built beside the work.
    allOrNothing: false,
    silent: true,
  },
};

const APPLIED = 'select name from mikro_orm_migrations';
const namesIn = (rows: unknown[]) => (rows as { name: string }[]).map(({ name }) => parse(name).name);

function noneWithoutTable(error: unknown): unknown[] {
  if ((error as { code?: unknown }).code === '42P01') return [];
  throw error;
}

const UNREACHABLE = 'The database cannot be reached.';
const SQLSTATE = /^(?=.*\d)[\dA-Z]{5}$/;

/** What an error means for readiness; its own text may name what a prober should not know. */
function stateOf(error: unknown): string {
  const code = String((error as { code?: unknown }).code);
  const says = code.startsWith('42') ? 'The role may not read the tables.' : (faultOf(error)?.says ?? UNREACHABLE);
  return SQLSTATE.test(code) ? says.replace(/\.$/, ` (${code}).`) : says;
}

/** The end of a migration's name that names the oldest version that can work with it, as `_since_0_2_0`. */
const SINCE = /_since_(\d+_\d+_\d+)$/;
const ownVersion = packageJson.version.replaceAll('.', '_');

/** Whether this version works with the tables of an unknown migration. */
function isHarmless(migration: string): boolean {
  const since = SINCE.exec(migration)?.[1];
  return since !== undefined && ownVersion.localeCompare(since, 'en', { numeric: true }) >= 0;
}

/** Members of both databases that need MikroORM; `look` sends the queries of `unready`. */
export function commonDatabaseMembers(
  orm: MikroORM,
  look: (statement: string) => Promise<unknown[]>,
  ping: () => Promise<unknown> = () => look('select'),
) {
  const pendingMigrations = async () => (await orm.migrator.getPending()).map(({ name }) => name);
  const own = globSync(MIGRATIONS, { cwd: folder }).map((file) => parse(file).name);
  async function differences(): Promise<string | null> {
    // A second time where the connection was lost meanwhile.
    const found = await look(APPLIED).catch(() => look(APPLIED).catch(noneWithoutTable));
    const applied = namesIn(found);
    const missing = own.filter((name) => !applied.includes(name));
    if (missing.length > 0) return `The database lacks ${missing.join(', ')}: run npm run migrate -- up.`;
    // During an upgrade, and on the way back from one, this version works with the tables of the next.
    const harmful = applied.filter((name) => !own.includes(name) && !isHarmless(name));
    if (harmful.length === 0) return null;
    return `A newer version has applied ${harmful.join(', ')} to the database: start that version.`;
  }
  return {
    orm,
    pendingMigrations,
    ping,
    async unready(): Promise<string | null> {
      const tooLate = delay(5_000, UNREACHABLE, { ref: false });
      const found = ping().then(differences);
      return Promise.race([found.catch(stateOf), tooLate]);
    },
  };
}

/** The time (ms) that a migration waits for a lock, while other statements wait for it. */
export const MIGRATION_LOCK_TIMEOUT = 250;
/** Every tenth attempt waits longer: autovacuum releases a table only after a second. */
const [PATIENT, PATIENT_LOCK_TIMEOUT] = [10, 1500];
const ATTEMPTS = 1000;

/** Applies pending migrations and gives their names. A step without its lock is tried again, for 20 minutes. */
export async function applyMigrations(orm: MikroORM, tell: TellOperator): Promise<string[]> {
  const pending = await orm.migrator.getPending();
  for (let attempt = 1; ; attempt++) {
    const patient = attempt % PATIENT === 0;
    if (attempt === PATIENT) tell('A migration waits for a lock on a table that others use.');
    if (patient) await orm.em.getConnection().execute(`set lock_timeout = ${PATIENT_LOCK_TIMEOUT}`);
    try {
      await orm.migrator.up();
      return pending.map(({ name }) => name);
    } catch (error) {
      const fault = faultOf(error);
      if (!fault) throw new StartError(`The tables cannot be brought up to date: ${reasonOf(error)}`, { cause: error });
      if (!['held', 'conflict'].includes(fault.is) || attempt === ATTEMPTS) throw error;
    }
    if (patient) await orm.em.getConnection().execute('reset lock_timeout');
    await delay(1000);
  }
}
