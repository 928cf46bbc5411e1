import { randomUUID } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { basename, join, parse } from 'node:path';
import { ReadableStream as PieceStream } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { create } from 'content-disposition';
import { z } from 'zod';
import { counted } from '../core/counted.ts';
import { readOptions, runCommand } from './command.ts';
import { CallFailed, Gateway, gatewayOptions } from './gateway.ts';

const usage = `Usage: npm run import -- --fleet <id> --file vins.csv [--column NAME] [--url http://127.0.0.1:4000] [--token …]
NAME is that of the column of VINs, where the gateway does not find it. Address and token may also stand in FLEET_GATEWAY_URL and FLEET_GATEWAY_TOKEN. Exit code 0: every row was taken;
1: some were rejected, and stand beside the file in <name>.rejected.csv; 2: it failed; 130: Ctrl-C.`;

const options = {
  fleet: { type: 'string' },
  file: { type: 'string' },
  column: { type: 'string' },
  ...gatewayOptions,
} as const;
const exitCodes = { done: 0, rejectedRows: 1, failed: 2, interrupted: 130 };

/** A gateway notices within this time that the rest of the file will not come. */
const NOTICED_MS = 3_000;

const BAR = 40;
const bar = (done: number): string => '#'.repeat(Math.floor(BAR * done)).padEnd(BAR, '-');
/** A part of a size, in the unit that suits the whole. */
const amount = (bytes: number, size: number): string =>
  size < 1e6
    ? `${Math.round(bytes / 1e3)} of ${Math.ceil(size / 1e3)} kB`
    : `${(bytes / 1e6).toFixed(1)} of ${(size / 1e6).toFixed(1)} MB`;

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { fleet, file, column, url, token } = readOptions(args, options, usage);
  if (!fleet || !file) throw new Error(`Name the fleet and the file.\n${usage}`);
  const found = file === '-' ? null : await stat(file);
  // After a failure the file is sent again, and so read again.
  if (!found?.isFile()) throw new Error(`${file} is no file: the import needs one, and no folder or pipe.`);
  const { size } = found;
  const gateway = await Gateway.open({ url, token }, env);
  // Fails at once, and not after the upload, where there is no such fleet, or not with this token.
  const { name } = await gateway.get(`/fleets/${encodeURIComponent(fleet)}`, z.object({ name: z.string() }));
  console.log(`${file} goes to the fleet "${name}" on ${gateway.url}.`);

  const importId = randomUUID();
  const startedAt = performance.now();
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const progress = new SingleBar({
    format: (_options, { progress: done, value, eta }) =>
      done < 1
        ? `[${bar(done)}] ${amount(value, size)} sent, ${Math.ceil(eta)} s left`
        : `[${bar(1)}] sent; the rows are being stored`,
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    clearOnComplete: true,
  });
  progress.start(size, 0);
  const upload = { fleetId: fleet, importId, column, path: file, found, signal: interrupted.signal };
  const ended = await uploadFile(gateway, upload, {
    sent: (bytes) => progress.increment(bytes),
    retrying(reason) {
      progress.stop();
      console.error(`${reason} Trying again.`);
      progress.start(size, 0);
    },
  })
    .catch((error: unknown) => {
      if (!interrupted.signal.aborted) throw error;
    })
    .finally(() => progress.stop());
  if (!ended) {
    console.log(await afterInterruption(gateway, importId));
    return exitCodes.interrupted;
  }
  const { received, created, existing, rejected } = ended;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${counted(received, 'row')} in ${seconds} s: ${created} created, ${existing} existing, ${rejected} rejected.`,
  );
  if (rejected === 0) return exitCodes.done;
  const report = join(parse(file).dir, `${parse(file).name}.rejected.csv`);
  const { body } = await gateway.send('GET', `/imports/${importId}/rejected.csv`);
  await writeFile(report, body ?? '');
  console.log(`The rejected rows are in ${report}, each with its reason: mend them and import that file.`);
  return exitCodes.rejectedRows;
}

/** The text after an interruption: the upload was stored as a whole or not at all. */
async function afterInterruption(gateway: Gateway, importId: string): Promise<string> {
  const read = () => gateway.get(`/imports/${importId}`, importShape).catch(() => null);
  const isUnderWay = (state = '') => ['RUNNING', 'STORING'].includes(state);
  const end = performance.now() + NOTICED_MS;
  let run = await read();
  while (isUnderWay(run?.state) && performance.now() < end) {
    await delay(100);
    run = await read();
  }
  if (run?.state === 'COMPLETED')
    return `Stopped too late: the file had arrived. It added ${counted(run.created, 'vehicle')}.`;
  if (isUnderWay(run?.state)) {
    return 'Stopped, but the whole file has arrived and is being stored. Repeat the command to see what became of it: nothing is stored twice.';
  }
  return 'Stopped. Nothing was stored: the fleet is as it was. To import the file, repeat the command.';
}

const ATTEMPTS = 10;
const LONGEST_PAUSE_SECONDS = 30;

/** Statuses that a later attempt may mend: no answer, too many requests, or a restart. */
const passing = [undefined, 429, 502, 503, 504];

const importShape = z.object({
  state: z.enum(['RUNNING', 'STORING', 'COMPLETED', 'FAILED']),
  received: z.number(),
  created: z.number(),
  existing: z.number(),
  rejected: z.number(),
});

interface Upload {
  fleetId: string;
  /** Chosen here, so that sending the same file again is the same import. */
  importId: string;
  column?: string | undefined;
  path: string;
  /** The file's size and times at the beginning. */
  found: Stats;
  /** Aborts to stop the upload. */
  signal: AbortSignal;
}

interface Progress {
  /** Called with the number of bytes that were sent. */
  sent(bytes: number): void;
  /** The attempt failed, and another one follows. */
  retrying(reason: string): void;
}

/** Sends a file, again after a failure that may pass, and gives its import: one, since the attempts share its importId. */
export async function uploadFile(gateway: Gateway, upload: Upload, progress: Progress) {
  const { importId, signal } = upload;
  for (let failures = 0; ; ) {
    try {
      await sendFile(gateway, upload, progress);
      return await gateway.get(`/imports/${importId}`, importShape);
    } catch (error) {
      if (!(error instanceof CallFailed) || signal.aborted) throw error;
      const { answer, problem, message } = error;
      // The first attempt may be under way, and take as long as it needs.
      const isRunning = problem?.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!isRunning) failures += 1;
      if (failures === ATTEMPTS || !(isRunning || passing.includes(answer?.status))) throw error;
      progress.retrying(message);
      const pause = Number(answer?.headers.get('Retry-After')) || Math.min(2 ** failures, LONGEST_PAUSE_SECONDS);
      await delay(1_000 * pause, undefined, { signal });
    }
  }
}

/** Sends the file as it is read, in constant memory. A report that rejects every row is an answer, too. */
async function sendFile(gateway: Gateway, upload: Upload, progress: Progress) {
  const { fleetId, importId, column, signal } = upload;
  let unreadable: unknown;
  async function* pieces() {
    try {
      yield* piecesOf(upload, progress);
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  const headers = { 'content-type': 'text/csv', 'content-disposition': create(basename(upload.path)) };
  const init = { body: PieceStream.from(pieces()), duplex: 'half', headers, signal };
  try {
    const query = new URLSearchParams({ fleetId, importId, ...(column && { column }) });
    const answer = await gateway.send('POST', `/vehicles/file?${query}`, init as RequestInit);
    // The import itself is read afterwards.
    await answer.body?.cancel();
  } catch (error) {
    if (unreadable) throw unreadable;
    if (!(error instanceof CallFailed && error.problem?.importId)) throw error;
  }
}

/** The file's bytes. Throws before the upload's end if they are others than at first, so that nothing is stored. */
async function* piecesOf({ path, found }: Upload, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const piece of createReadStream(path)) {
    progress.sent(piece.length);
    yield piece;
  }
  const now = await stat(path).catch(() => null);
  if (now?.size === found.size && now.mtimeMs === found.mtimeMs) return;
  throw new Error(`${path} changed while it was read, so nothing was stored.`);
}

if (import.meta.main) await runCommand({ usage, failed: exitCodes.failed }, main);
