import { sql } from 'kysely';
import { isoTimeExpression } from '../sql/selection.ts';
import { db, prepare } from '../sql/sql.ts';

export const MOST_WAITING_PROGRAMS = 100_000;

/** Programs that wait to begin (wanted) or to end, of all companies, by provider: how many, and since when the first does. */
export const waitingPrograms = prepare((_: object) =>
  db
    .selectFrom((q) =>
      q
        .selectFrom('activation')
        .select(['provider', 'wanted', 'changed_at'])
        .where(sql<boolean>`(state in ('PENDING', 'ENDING') or not wanted)`)
        .orderBy('changed_at')
        .limit(sql.lit(MOST_WAITING_PROGRAMS))
        .as('first'),
    )
    .select(['provider', 'wanted', sql<number>`count(*)::int`.as('programs')])
    .select(({ fn }) => isoTimeExpression(fn.min<string>('changed_at')).as('since'))
    .groupBy(['provider', 'wanted']),
);
export type WaitingPrograms = Awaited<ReturnType<typeof waitingPrograms>>[number];
