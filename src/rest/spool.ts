import type { Context } from '../core/context.ts';
import { admitUpload } from '../core/imports/begin.ts';
import { keepOnDisk, type TemporaryFile } from '../core/imports/temporary-file.ts';

/** How many files of each company wait on the disk of this process. */
const waiting = new Map<string, number>();

/**
 * Keeps a part on disk until it is known whose it is. Throws Forbidden and RateLimited before a byte is kept;
 * PayloadTooLarge for a file over LIMIT_FILE_BYTES, and Unavailable where all that wait are too much.
 */
export async function spool(ctx: Context, part: AsyncIterable<Buffer>): Promise<TemporaryFile> {
  const leave = await enter(ctx);
  try {
    return await keepOnDisk(part, ctx.services.config.LIMIT_FILE_BYTES);
  } finally {
    // From here on it is an upload like any other.
    leave();
  }
}

/** Takes one of the company's places; gives how to leave it. */
async function enter(ctx: Context): Promise<() => void> {
  const company = ctx.caller?.company ?? '';
  const before = waiting.get(company) ?? 0;
  // Taken before it is known whether there is one: whoever comes meanwhile counts it.
  waiting.set(company, before + 1);
  const leave = () => {
    const left = (waiting.get(company) ?? 1) - 1;
    if (left > 0) waiting.set(company, left);
    else waiting.delete(company);
  };
  try {
    await admitUpload(ctx, { waiting: before });
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}
