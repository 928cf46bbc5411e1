import { sql } from 'kysely';
import type { Context } from './context.ts';
import { IdempotencyInProgress, IdempotencyKeyReused } from './errors.ts';
import { write } from './sql.ts';

/** An answer as it went out, so that it can go out again. */
export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export const IDEMPOTENCY_HOURS = 24;

/**
 * Does `work` once for each key of a company, in one transaction with remembering its answer; a repetition within
 * 24 hours gets that answer. `request` is a digest of what was asked. A refusal is not remembered: nothing was done.
 * Throws IdempotencyKeyReused for another request, and IdempotencyInProgress while the first still runs.
 */
export async function once(
  ctx: Context,
  key: string,
  request: string,
  work: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  const company = ctx.caller?.company ?? '';
  return ctx.em.transactional(async () => {
    // Held until the transaction ends, however it ends; a killed process leaves nothing behind.
    const [lock] = await write<{ free: boolean }>(
      ctx,
      sql`select pg_try_advisory_xact_lock(hashtextextended(${JSON.stringify([company, key])}, 0)) as free`,
    );
    if (!lock?.free) throw new IdempotencyInProgress();
    const [before] = await write<StoredAnswer & { request: string }>(
      ctx,
      sql`select request, status, headers, body from idempotency_key
          where company = ${company} and key = ${key}
            and created_at > ${ctx.now()}::timestamptz - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
    );
    if (before && before.request !== request) throw new IdempotencyKeyReused();
    if (before)
      return {
        status: before.status,
        headers: { ...before.headers, 'Idempotent-Replayed': 'true' },
        body: before.body,
      };
    const answer = await work();
    await write(
      ctx,
      sql`insert into idempotency_key as k (company, key, request, status, headers, body, created_at)
          values (${company}, ${key}, ${request}, ${answer.status}, ${JSON.stringify(answer.headers)}::jsonb, ${answer.body},
            ${ctx.now()}::timestamptz)
          on conflict (company, key) do update set request = excluded.request, status = excluded.status,
            headers = excluded.headers, body = excluded.body, created_at = excluded.created_at`,
    );
    return answer;
  });
}
