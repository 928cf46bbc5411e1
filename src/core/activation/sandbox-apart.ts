import { sql } from 'kysely';
import { type Manufacturers, SANDBOX } from '../../manufacturers/index.ts';
import type { SendStatement } from '../database.ts';
import { db, prepare } from '../sql/sql.ts';

/** A provider whose answers the database holds; partial indexes have the sandbox's. */
const findProvider = (operator: '=' | '<>') =>
  prepare((_: object) => {
    const of = (table: 'activation' | 'vehicle') =>
      db.selectFrom(table).select('provider').where('provider', operator, sql.lit(SANDBOX)).limit(sql.lit(1));
    const found = db.selectFrom(of('activation').as('a')).select('provider');
    return found.unionAll(db.selectFrom(of('vehicle').as('v')).select('provider')).limit(sql.lit(1));
  });
const findInvented = findProvider('=');
const findReal = findProvider('<>');

/**
 * Why these providers must not work on a database (`name`): what the sandbox invents is never beside what providers answer, for nobody could
 * tell them apart later. null: they may.
 */
export async function sandboxFault(
  send: SendStatement,
  { state }: Pick<Manufacturers, 'state'>,
  name: string,
): Promise<string | null> {
  const isSandbox = state().some(({ id }) => id === SANDBOX);
  const [found] = await (isSandbox ? findReal : findInvented)(send, {});
  if (!found) return null;
  const [first = '', ...rest] = name;
  const subject = `${first.toUpperCase()}${rest.join('')}`;
  return isSandbox
    ? `${subject} holds answers of ${found.provider}, which the sandbox must not mix with its own: set that provider again (HIGH_MOBILITY_…, MERCEDES_…), choose another database (DATABASE_URL or DATA_DIR), or start with SANDBOX=off.`
    : `${subject} holds what the sandbox invented about vehicles: choose another database (DATABASE_URL or DATA_DIR) for real manufacturers, or start with SANDBOX=on and without a provider’s settings, and delete those vehicles first.`;
}
