import { openAsBlob } from 'node:fs';
import { ReadableStream as PieceStream } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { CallFailed, type Gateway } from './gateway.ts';

const ATTEMPTS = 10;
const LONGEST_PAUSE_SECONDS = 30;

/** Statuses that a later attempt may mend: no answer, too many requests, or a restart. */
const passing = [undefined, 429, 502, 503, 504];

export const importShape = z.object({
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
  path: string;
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
export async function uploadFile(
  gateway: Gateway,
  upload: Upload,
  progress: Progress,
): Promise<z.output<typeof importShape>> {
  const { importId, signal } = upload;
  for (let failures = 0; ; ) {
    try {
      await sendForm(gateway, upload, progress);
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
async function sendForm(gateway: Gateway, { fleetId, importId, path, signal }: Upload, progress: Progress) {
  const form = new FormData();
  form.append('fleetId', fleetId);
  form.append('vins', await openAsBlob(path, { type: 'text/csv' }), 'vins.csv');
  const { headers, body } = new Response(form);
  const pieces = PieceStream.from(piecesOf(body, progress));
  const init = { body: pieces, duplex: 'half', headers: Object.fromEntries(headers), signal };
  try {
    const answer = await gateway.send('POST', `/vehicles/file?importId=${importId}`, init as RequestInit);
    // The import itself is read afterwards.
    await answer.body?.cancel();
  } catch (error) {
    if (!(error instanceof CallFailed && error.problem?.importId)) throw error;
  }
}

/** The pieces of a form, whose stream is never cancelled: Node's fetch would go on to write to it, and fail uncaught. */
async function* piecesOf(form: ReadableStream<Uint8Array> | null, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const piece of form?.values({ preventCancel: true }) ?? []) {
    progress.sent(piece.length);
    yield piece;
  }
}
