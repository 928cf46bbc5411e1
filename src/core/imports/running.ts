import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import type { Import } from './import.ts';
import { type Start, stillRunning } from './run.ts';

/** Rows of a file that have been stored, or found to be there. */
interface Stored {
  created: number;
  existing: number;
}

/** The numbers of an import. */
export type Counts = Pick<Import, 'received' | 'created' | 'existing' | 'rejected'>;

interface Running {
  company: string;
  stored: Stored;
  state: () => Import;
}

/** The imports of this process that run: their rows are behind, and while a file is stored the embedded database says nothing at all. */
const running = new Map<string, Running>();

/** Other processes hear so often, at most, how much of a file is stored. */
const TOLD_EVERY_MS = 500;

const tell = prepare((p: Start & Stored) =>
  db
    .updateTable('import')
    .set({ created: p.created, existing: p.existing })
    .where(stillRunning(p))
    .returning('import.id'),
);

/**
 * Lets both interfaces say how far an import is, from `state`, until the returned function is called. To be called where no
 * transaction is open: what it tells other processes is told at once.
 */
export function beginTelling(ctx: Context, run: Start, state: () => Import): () => void {
  const own: Running = { company: run.company, stored: { created: 0, existing: 0 }, state };
  running.set(run.id, own);
  let told = own.stored;
  const tellOthers = async () => {
    if (told === own.stored) return;
    told = own.stored;
    const [moved] = await tell(onPrimary(ctx), { ...run, ...told });
    if (moved) ctx.services.changes.announce('import', run.id);
  };
  const others = ctx.services.database.kind !== 'embedded';
  // The row is held for the moment in which the import ends.
  const timer = others ? setInterval(() => void tellOthers().catch(() => {}), TOLD_EVERY_MS) : undefined;
  return () => {
    clearInterval(timer);
    running.delete(run.id);
  };
}

/** Says how much of the file the open transaction has stored: in this process now. */
export function tellOfStored(ctx: Context, id: string, stored: Stored): void {
  const own = running.get(id);
  if (own) own.stored = stored;
  ctx.services.changes.emit('import', id);
}

/** An import of the company that this process is at, as far as it has come. */
export function runningImport(company: string, id: string): Import | undefined {
  const own = running.get(id.toLowerCase());
  return own?.company === company ? { ...own.state(), ...own.stored } : undefined;
}

/** How far those of a company are that this process is at, by their ids. */
export function runningCounts(company: string): Record<string, Counts> {
  const counts: Record<string, Counts> = {};
  for (const [id, own] of running) {
    if (own.company !== company) continue;
    const { received, rejected } = own.state();
    counts[id] = { received, rejected, ...own.stored };
  }
  return counts;
}
