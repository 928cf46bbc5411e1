import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type ImportState, importShape, isUnderWay } from './follow-import.ts';
import { type Gateway, Rejected, Unreachable } from './gateway.ts';

const ATTEMPTS = 10;
const LONGEST_PAUSE_SECONDS = 30;
const ASK_EVERY_MS = 1_000;
/** Longer than an import counts as running whose process was killed. */
const WAIT_MS = 60_000;

/** What a later attempt may mend: who runs into too much, or into a restart. */
const passing = [429, 502, 503, 504];

export interface Upload {
  fleetId: string;
  /** Chosen by us, so that sending the same file again is the same import. */
  importId: string;
  path: string;
  /** Aborts when somebody wants it to stop. */
  signal: AbortSignal;
}

export interface Progress {
  /** So many bytes of the file's form have gone out in the attempt that runs, and line ends in them. */
  sent(bytes: number, lines: number): void;
  /** The attempt failed, and another one follows. */
  retrying(reason: string): void;
}

/**
 * Sends a file and gives the import when it has completed. A broken connection or a gateway that restarts is tried again,
 * under the same importId: nothing is stored twice. Throws Rejected for what trying again will not mend.
 */
export async function uploadFile(gateway: Gateway, upload: Upload, progress: Progress): Promise<ImportState> {
  for (let failures = 0; ; ) {
    try {
      await sendForm(gateway, upload, progress);
    } catch (error) {
      // A report that rejects every row is an answer, too.
      if (error instanceof Rejected && error.importId) return gateway.get(`/imports/${upload.importId}`, importShape);
      if (upload.signal.aborted || !mayPass(error)) throw error;
      // One that still runs may take as long as it needs.
      if (!isRunning(error)) failures += 1;
      if (failures === ATTEMPTS) throw error;
      progress.retrying(error.message);
      const pause = Math.min(2 ** failures, LONGEST_PAUSE_SECONDS);
      await delay(1_000 * ((error instanceof Rejected && error.retryAfter) || pause), undefined, {
        signal: upload.signal,
      });
    }
    // Whatever became of the answer, the gateway knows what became of the import.
    const ended = await endOf(gateway, upload.importId);
    if (ended?.state === 'COMPLETED') return ended;
  }
}

function mayPass(error: unknown): error is Unreachable | Rejected {
  if (error instanceof Rejected) return passing.includes(error.status) || isRunning(error);
  return error instanceof Unreachable;
}

const isRunning = (error: unknown) => error instanceof Rejected && error.code === 'IDEMPOTENCY_IN_PROGRESS';

/** The import's id, which no file holds by chance, also parts the form. */
const head = ({ fleetId, importId }: Upload) => `--${importId}\r
Content-Disposition: form-data; name="fleetId"\r
\r
${fleetId}\r
--${importId}\r
Content-Disposition: form-data; name="vins"; filename="vins.csv"\r
Content-Type: text/csv\r
\r
`;
const tail = ({ importId }: Upload) => `\r\n--${importId}--\r\n`;

/** Sends the file as it is read, in constant memory; what is wrong with reading it is no answer of the gateway. */
async function sendForm(gateway: Gateway, upload: Upload, progress: Progress): Promise<void> {
  let unreadable: Error | undefined;
  async function* form(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head(upload));
    let [bytes, lines] = [0, 0];
    try {
      for await (const chunk of createReadStream(upload.path) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        for (const byte of chunk) if (byte === 0x0a) lines += 1;
        progress.sent(bytes, lines);
        yield chunk;
      }
    } catch (error) {
      unreadable = error as Error;
      throw error;
    }
    yield Buffer.from(tail(upload));
  }
  const headers = { 'content-type': `multipart/form-data; boundary=${upload.importId}` };
  const init = { body: form(), duplex: 'half', headers, signal: upload.signal };
  const answer = await gateway
    .send('POST', `/vehicles/file?importId=${upload.importId}`, init as unknown as RequestInit)
    .catch((error: unknown) => {
      throw unreadable ?? error;
    });
  await answer.body?.cancel();
}

/** The import when it has ended; null where there is none, nobody to say so, or it might be dead. */
async function endOf(gateway: Gateway, importId: string): Promise<ImportState | null> {
  for (const end = performance.now() + WAIT_MS; performance.now() < end; await delay(ASK_EVERY_MS)) {
    const state = await gateway.get(`/imports/${importId}`, importShape).catch((error: unknown) => {
      if (mayPass(error) || (error instanceof Rejected && error.status === 404)) return null;
      throw error;
    });
    if (!state || !isUnderWay(state)) return state;
  }
  return null;
}
