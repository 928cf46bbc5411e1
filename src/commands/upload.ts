import { openAsBlob } from 'node:fs';
import { ReadableStream as PieceStream } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Gateway, Rejected, Unreachable } from './gateway.ts';

const ATTEMPTS = 10;
const LONGEST_PAUSE_SECONDS = 30;

/** Statuses that a later attempt may mend: too many requests, or a restart. */
const passing = [429, 502, 503, 504];

export const importShape = z.object({
  state: z.enum(['RUNNING', 'STORING', 'COMPLETED', 'FAILED']),
  received: z.number(),
  created: z.number(),
  existing: z.number(),
  rejected: z.number(),
});
const answerShape = z.object({ summary: importShape.omit({ state: true }) });
export type Summary = z.output<typeof answerShape>['summary'];

export interface Upload {
  fleetId: string;
  /** Chosen by us, so that sending the same file again is the same import. */
  importId: string;
  path: string;
  /** Aborts when somebody wants it to stop. */
  signal: AbortSignal;
}

export interface Told {
  /** Called with the number of bytes that were sent. */
  sent(bytes: number): void;
  /** The attempt failed, and another one follows. */
  retrying(reason: string): void;
}

/**
 * Sends a file and gives what became of its rows. A broken connection or a gateway that restarts is tried again under the same
 * importId: nothing is stored twice. Throws Rejected for what trying again will not mend.
 */
export async function uploadFile(gateway: Gateway, upload: Upload, told: Told): Promise<Summary> {
  const { importId, signal } = upload;
  for (let failures = 0; ; ) {
    try {
      return await sendForm(gateway, upload, told);
    } catch (error) {
      // A report that rejects every row is an answer, too.
      if (error instanceof Rejected && error.importId) return gateway.get(`/imports/${importId}`, importShape);
      if (signal.aborted || !mayPass(error)) throw error;
      // The first attempt may be under way, and take as long as it needs.
      if (!isRunning(error)) failures += 1;
      if (failures === ATTEMPTS) throw error;
      told.retrying(error.message);
      const pause = Math.min(2 ** failures, LONGEST_PAUSE_SECONDS);
      await delay(1_000 * ((error instanceof Rejected && error.retryAfter) || pause), undefined, { signal });
    }
  }
}

function mayPass(error: unknown): error is Unreachable | Rejected {
  if (error instanceof Rejected) return passing.includes(error.status) || isRunning(error);
  return error instanceof Unreachable;
}

const isRunning = (error: unknown) => error instanceof Rejected && error.code === 'IDEMPOTENCY_IN_PROGRESS';

/** Sends the file as it is read, in constant memory. */
async function sendForm(gateway: Gateway, { fleetId, importId, path, signal }: Upload, told: Told): Promise<Summary> {
  const form = new FormData();
  form.append('fleetId', fleetId);
  form.append('vins', await openAsBlob(path, { type: 'text/csv' }), 'vins.csv');
  const { headers, body } = new Response(form);
  const init = {
    body: PieceStream.from(piecesOf(body, told)),
    duplex: 'half',
    headers: Object.fromEntries(headers),
    signal,
  };
  const answer = await gateway.send('POST', `/vehicles/file?importId=${importId}`, init as RequestInit);
  return answerShape.parse(await answer.json()).summary;
}

/** The pieces of a form. Its stream is never cancelled: Node's fetch would go on to write to it, which nobody could catch. */
async function* piecesOf(form: ReadableStream<Uint8Array> | null, told: Told): AsyncGenerator<Uint8Array> {
  for await (const piece of form?.values({ preventCancel: true }) ?? []) {
    told.sent(piece.length);
    yield piece;
  }
}
