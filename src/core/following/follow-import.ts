import { setTimeout as delay } from 'node:timers/promises';
import { authorize, type Context, contextOfSharedRead } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { isImportUnderWay } from '../imports/import-run.ts';
import { getImport, type Import } from '../imports/imports.ts';
import { isId } from '../sql/sql.ts';
import { SharedReads } from './shared-reads.ts';

const PAUSE_MS = 100;

function nullIfMissing(error: unknown): null {
  if (error instanceof ImportNotFound) return null;
  throw error;
}

/** An import after each change until it ends or the signal aborts. It need not exist yet; throws ImportNotFound. */
export async function followImportChanges(ctx: Context, { importId }: { importId: string }, signal: AbortSignal) {
  const company = authorize(ctx, 'fleets:read');
  if (!isId(importId)) throw new ImportNotFound();
  const id = importId.toLowerCase();
  const { followers } = ctx.services;
  const open = () =>
    new SharedReads<Import | null>((forget) => ({ import: (of) => of === id && forget() }), { polls: false });
  const { source, follower, leave } = followers.join(['import', company, id], open, signal);
  const read = async () => {
    const run = await getImport(contextOfSharedRead(ctx), { id }).catch(nullIfMissing);
    return run && followers.share(run);
  };
  follower.ring();

  async function* states(): AsyncGenerator<Import> {
    try {
      while (await follower.wait({ signal })) {
        const run = await source.once(id, read);
        if (!run) continue;
        await ctx.services.fairness.news.next(company);
        yield run;
        if (!isImportUnderWay(run.state)) return;
        await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      leave();
    }
  }
  return states();
}
