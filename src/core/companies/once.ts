import { sql } from 'kysely';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';

/**
 * Notes that something was done, by name, unless that was noted after `since`: then it gives no row. Kept for a day, beside the answers to keys
 * of requests.
 */
export const noteOnce = prepare((p: { name: string; now: Date; since: Date }) =>
  db
    .insertInto('idempotency_key')
    .values({ company: '', key: p.name, request: '', created_at: p.now })
    .onConflict((conflict) =>
      conflict
        .columns(['company', 'key'])
        .doUpdateSet({ created_at: p.now })
        .where('idempotency_key.created_at', '<=', asTimestamptz(p.since)),
    )
    .returning(sql.lit(1).as('noted')),
);

/** A row if it was noted after `since`. */
export const findNote = prepare((p: { name: string; since: Date }) =>
  db
    .selectFrom('idempotency_key')
    .select(sql.lit(1).as('noted'))
    .where('company', '=', sql.lit(''))
    .where('key', '=', p.name)
    .where('created_at', '>', asTimestamptz(p.since)),
);

/** Has it done again. */
export const forgetNote = prepare((p: { name: string }) =>
  db.deleteFrom('idempotency_key').where('company', '=', sql.lit('')).where('key', '=', p.name),
);
