import { sql } from 'kysely';
import type { Activator, ListedProgram } from '../../manufacturers/index.ts';
import { findNote, forgetNote, noteOnce } from '../companies/once.ts';
import { scheduleClause } from '../companies/schedule.ts';
import { csvLine } from '../csv-line.ts';
import type { SendStatement } from '../database.ts';
import { asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import { type Needs, needSql, needsAt, type Offering } from './needs.ts';
import { touched } from './touch-activations.ts';

// What is on at a provider, compared with what contracts need here. It may be on by a mistake of this gateway, of another, or of people.

const listedColumns = 'provider text, company text, vin text, program text, brand text, status text';
type Listed = ListedProgram & { provider: string };

/** Listed programs that no contract in force, or about to be, needs; `state` is that of the row which says so; null: there is none. */
const findUnneeded = prepare((p: Needs & { listed: string }) =>
  db
    .selectFrom(jsonRecordset<Listed, 'a'>('a', p.listed, listedColumns))
    .crossJoinLateral(needSql(p).as('need'))
    .select(['a.provider', 'a.vin', 'a.brand', 'a.program', 'a.status'])
    .select(
      sql<string | null>`(select max(o.state) from activation o
        where o.vin = a.vin and o.provider = a.provider and o.program = a.program)`.as('state'),
    )
    .where('need.begins', 'is', null)
    .orderBy('a.vin')
    .orderBy('a.program'),
);
type UnneededProgram = Awaited<ReturnType<typeof findUnneeded>>[number];

const columns = ['provider', 'vin', 'brand', 'program', 'status', 'state'] as const;
export const unneededHeader = csvLine(columns, ',');
export const unneededLine = (program: UnneededProgram): string =>
  csvLine(
    columns.map((name) => program[name] ?? ''),
    ',',
  );

const names = ['company', 'id', 'vin', 'provider', 'program', 'brand'] as const;
/**
 * Has the end of programs ordered, and followed up like any other: rows that there are come due, and for the others one of no company is
 * made, as a row outlives its contracts.
 */
const order = prepare((p: { programs: string; now: Date }) => {
  const now = asTimestamptz(p.now);
  const given = jsonRecordset<Listed, 'a'>('a', p.programs, listedColumns);
  const isSame = (table: string) =>
    sql<boolean>`${sql.ref(`${table}.vin`)} = a.vin and ${sql.ref(`${table}.provider`)} = a.provider
      and ${sql.ref(`${table}.program`)} = a.program`;
  return db
    .with('known', (q) =>
      q
        .updateTable('activation')
        .from(given)
        .set(touched(now))
        .where(isSame('activation'))
        .returning(['activation.company', 'activation.due_at']),
    )
    .with('made', (q) =>
      q
        .insertInto('activation')
        .columns([...names, 'wanted', 'asked', 'state', 'changed_at', 'due_at'])
        .expression(
          db
            .selectFrom(given)
            .select([sql.lit('').as('company'), sql<string>`new_uuid()`.as('id'), 'a.vin', 'a.provider', 'a.program'])
            .select(['a.brand', sql.lit(false).as('wanted'), sql.lit(true).as('asked')])
            .select([sql.lit('ACTIVE').as('state'), now.as('changed_at'), now.as('due_at')])
            .where(({ not, exists, selectFrom }) =>
              not(exists(selectFrom('activation as o').select('o.id').where(isSame('o')))),
            ),
        )
        .onConflict((conflict) => conflict.columns(['company', 'vin', 'provider', 'program']).doNothing())
        .returning(['company', 'due_at']),
    )
    .with('both', (q) =>
      q
        .selectFrom('known')
        .select(['company', 'due_at'])
        .unionAll(q.selectFrom('made').select(['company', 'due_at'])),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('both').select(['company', 'due_at'])))
    .selectFrom('both')
    .select('company');
});

export const orderEnds = (send: SendStatement, programs: readonly UnneededProgram[], now: Date) =>
  order(send, { programs: JSON.stringify(programs), now });

export interface Auditing {
  send: SendStatement;
  manufacturers: Offering;
  /** Minutes within which a contract counts before it begins. */
  gap: number;
}

/** What nobody here needs of all that is on at a provider, page by page, with how many there were. Throws ProviderError. */
export async function* auditProvider({ send, manufacturers, gap }: Auditing, provider: string) {
  const { list } = manufacturers.activatorOf(provider) as Activator;
  for await (const page of list()) {
    const listed = JSON.stringify(page.map((one) => ({ ...one, provider })));
    const found = await findUnneeded(send, { ...needsAt(new Date(), manufacturers, gap), listed });
    yield { listed: page.length, found };
  }
}

/** A process that compares says so this often; another one begins at the end of that, or after twice the time. */
const COMPARING_MS = 30_000;
const DAY_MS = 86_400_000;

/**
 * How many programs are on at a provider, and how many of them no row here knows. null: that was counted within a day, since Mercedes-Benz is
 * asked about each vehicle, or another process counts.
 */
export async function countUnknown(auditing: Auditing, provider: string, signal: AbortSignal) {
  const [comparing, compared] = [`comparing ${provider}`, `compared ${provider}`];
  const ago = (ms: number) => new Date(Date.now() - ms);
  const { send } = auditing;
  if ((await noteOnce(send, { name: comparing, now: ago(0), since: ago(2 * COMPARING_MS) })).length === 0) return null;
  let [listed, unknown, noted] = [0, 0, Date.now()];
  try {
    if ((await findNote(send, { name: compared, since: ago(DAY_MS) })).length > 0) return null;
    for await (const page of auditProvider(auditing, provider)) {
      signal.throwIfAborted();
      if (Date.now() - noted > COMPARING_MS) {
        noted = Date.now();
        await noteOnce(send, { name: comparing, now: ago(0), since: ago(0) });
      }
      listed += page.listed;
      unknown += page.found.filter(({ state }) => state === null).length;
    }
    await noteOnce(send, { name: compared, now: ago(0), since: ago(0) });
    return { listed, unknown };
  } finally {
    await forgetNote(send, { name: comparing });
  }
}
