import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { db, prepare } from '../sql/sql.ts';

/** An answer of more bytes may be out of proportion to what its request changed; smaller ones have no bound but their day. */
const LARGE_BYTES = 4096;
/** A company's kept answers are looked through about so often while they take their room once. */
const LOOKS = 16;

/** The condition of the index `idempotency_key_large`, word for word. */
const isLarge = sql<boolean>`octet_length(body) > ${sql.lit(LARGE_BYTES)}`;

/** What others hold is left to them. The key stays, so that nothing is done twice. Arrays have rows looked up by their keys. */
const letGo = prepare((p: { company: string; key: string; most: number }) =>
  db
    .with('large', (q) =>
      q
        .selectFrom('idempotency_key')
        .select('key')
        .select(sql<number>`sum(octet_length(body)) over (order by created_at desc, key)`.as('bytes'))
        .where('company', '=', p.company)
        .where(isLarge),
    )
    .with('old', (q) =>
      q
        .selectFrom('idempotency_key')
        .select('key')
        .where('company', '=', p.company)
        .where(
          'key',
          '=',
          sql<string>`any(array(select key from large where bytes > ${p.most}::bigint and key <> ${p.key}))`,
        )
        .forUpdate()
        .skipLocked(),
    )
    .updateTable('idempotency_key as k')
    .set({ body: null })
    .where('k.company', '=', p.company)
    .where('k.key', '=', sql<string>`any(array(select key from old))`),
);

/** Beyond LIMIT_FILE_BYTES, the oldest large answers of a company go, when another has been kept; it stays itself. */
export async function boundKeptAnswers(ctx: Context, company: string, key: string, body: string): Promise<void> {
  const most = ctx.services.config.LIMIT_FILE_BYTES;
  const bytes = Buffer.byteLength(body);
  if (bytes > LARGE_BYTES && bytes * LOOKS > Math.random() * most) await letGo(ctx, { company, key, most });
}
