import { setTimeout as delay } from 'node:timers/promises';
import { authorize, type Context, contextOfSharedRead } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import type { FollowedSource } from '../followers.ts';
import { isImportUnderWay } from '../imports/import-run.ts';
import { getImport, type Import } from '../imports/imports.ts';
import { isId } from '../sql/sql.ts';

const PAUSE_MS = 100;

/** An import after each change until it ends or the signal aborts. It need not exist yet; throws ImportNotFound. */
export async function followImportChanges(ctx: Context, { importId }: { importId: string }, signal: AbortSignal) {
  const company = authorize(ctx, 'fleets:read');
  if (!isId(importId)) throw new ImportNotFound();
  const id = importId.toLowerCase();
  const { followers } = ctx.services;
  const { source, follower, leave } = followers.join(['import', company, id], () => new ImportState(id), signal);
  const read = async () => followers.share(await getImport(contextOfSharedRead(ctx), { id }));
  follower.ring();

  async function* states(): AsyncGenerator<Import> {
    try {
      while (await follower.wait({ signal })) {
        const run = await source.once(read);
        if (!run) continue;
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

/** An import as it is, read once after each news of it. */
class ImportState implements FollowedSource {
  readonly listeners;
  #state: Promise<Import | null> | null = null;

  constructor(id: string) {
    const moved = () => {
      this.#state = null;
      return true;
    };
    this.listeners = { import: (of: string) => of === id && moved(), missed: moved };
  }

  refresh(): boolean {
    this.#state = null;
    return false;
  }

  /** Null while there is none. */
  once(read: () => Promise<Import>): Promise<Import | null> {
    this.#state ??= read().catch((error) => {
      if (error instanceof ImportNotFound) return null;
      this.#state = null;
      throw error;
    });
    return this.#state;
  }
}
