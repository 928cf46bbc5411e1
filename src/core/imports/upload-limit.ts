import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { RateLimited } from '../errors.ts';
import { primarySender } from '../sql/send.ts';
import { db, prepare } from '../sql/sql.ts';
import type { TemporaryFile } from './temporary-file.ts';

const RETRY_SECONDS = 5;

/** Keeps a file on disk until its fleet is known. Throws Forbidden, PayloadTooLarge and RateLimited. */
export async function spoolUpload(ctx: Context, file: AsyncIterable<Buffer>): Promise<TemporaryFile> {
  const company = authorize(ctx, 'fleets:write');
  const { spooling, disk } = ctx.services.files;
  const waiting = spooling.held(company);
  return spooling.run(company, async () => {
    await limitUploads(ctx, company, waiting);
    return disk.keep(file, company);
  });
}

const countRunning = prepare((p: { company: string; now: Date }) =>
  db
    .selectFrom('import')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('company', '=', p.company)
    .where('due_at', '>', sql<string>`${p.now}::timestamptz`),
);

/** Throws RateLimited beyond LIMIT_UPLOADS. `waiting` are the company's files that are being kept already. */
export async function limitUploads(ctx: Context, company: string, waiting = 0): Promise<void> {
  const limit = ctx.services.config.LIMIT_UPLOADS;
  const [running] = await countRunning(primarySender(ctx), { company, now: ctx.now() });
  if ((running?.count ?? 0) + waiting < limit) return;
  throw new RateLimited(
    RETRY_SECONDS,
    `At most ${limit} uploads of a company run at once, and as many are running. Try again in ${RETRY_SECONDS} s.`,
  );
}
