import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { CsvLimits } from './csv/limits.ts';
import type { FileWorkerReply, FileWorkerRequest } from './file-worker.ts';
import { FileRejection, fileTooLarge } from './rejection.ts';
import type { TableLayout } from './table.ts';

/** Heap of a thread, also for the texts of a workbook. */
const HEAP_MB = 256;
const LOOK_MS = 250;

interface ThreadOptions<Data> {
  /** A module whose `openBatches(data)` gives the function that makes of rows, in the thread, what `onBatch` gets. */
  batches: URL;
  data: Data;
  /** Arguments of Node for the thread: the process's own flags are not all for threads. */
  execArgv?: string[];
}

interface ThreadReading<Batch> {
  limits: CsvLimits;
  signal: AbortSignal;
  /** Seconds of processor time for so many bytes, which grow while text arrives. */
  mostSeconds(bytes: number): number;
  /** Runs a step of the thread when it is its turn. */
  turn<T>(step: () => Promise<T>): Promise<T>;
  onLayout(layout: TableLayout): Promise<unknown>;
  /** One more batch is read until this has resolved. */
  onBatch(batch: Batch): Promise<void>;
}

/** Text as it arrives, or the descriptor of a workbook of so many bytes. */
export type ThreadFile = { text: AsyncIterator<Buffer> } | { fd: number; bytes: number };

/** A thread that reads files, one after the other; the process does not wait for it to end. */
export class FileThread<Data, Batch> {
  readonly #worker: Worker;

  constructor({ batches, data, execArgv }: ThreadOptions<Data>) {
    this.#worker = new Worker(new URL('./file-worker.ts', import.meta.url), {
      workerData: { module: batches.href, data },
      ...(execArgv && { execArgv }),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    // Without a listener, an error between two files would end the process.
    this.#worker.on('error', () => {});
    this.#worker.unref();
  }

  /**
   * Reads a file; gives the rejection of one that cannot be read. Throws, and has ended then, FileRejection after too much time or
   * memory, and what the file, the signal or a callback throws.
   */
  async read(file: ThreadFile, { limits, signal, mostSeconds, turn, onLayout, onBatch }: ThreadReading<Batch>) {
    let bytes = 'fd' in file ? file.bytes : 0;
    const rejection = await this.#use(
      signal,
      () => mostSeconds(bytes),
      async (send) => {
        const ask = (request: FileWorkerRequest) => turn(() => send(request));
        let reply = await ask({ file: 'fd' in file ? file.fd : 'text', limits });
        for (;;) {
          if (reply === 'needs a piece') {
            const { value } = 'text' in file ? await file.text.next() : {};
            bytes += value?.length ?? 0;
            // A copy, since the buffer of which it is a part goes to the thread as a whole.
            reply = await ask({ piece: value ? new Uint8Array(value) : null });
          } else if ('rejection' in reply) return reply.rejection;
          else {
            const next = ask('next');
            // Awaited below, unless the batch fails.
            next.catch(() => {});
            await ('batch' in reply ? onBatch(reply.batch) : onLayout(reply.layout));
            reply = await next;
          }
        }
      },
    );
    return rejection && new FileRejection(rejection.code, rejection.message, rejection.details);
  }

  terminate = (): Promise<unknown> => this.#worker.terminate();

  /** Lets `work` ask the thread about one file. An abort, or too much time or memory, terminates the thread and `work`. */
  async #use<T>(
    signal: AbortSignal,
    mostSeconds: () => number,
    work: (ask: (request: FileWorkerRequest) => Promise<FileWorkerReply<Batch>>) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    ending.addEventListener('abort', this.terminate);
    const before = this.#worker.cpuUsage().catch(() => undefined);
    const look = async () => {
      const { user, system } = await this.#worker.cpuUsage(await before);
      const most = mostSeconds();
      if ((user + system) / 1e6 > most) over.abort(tooExpensive(`${Math.ceil(most)} s of processor time`));
    };
    const timer = setInterval(() => void look().catch(() => {}), LOOK_MS);
    try {
      const result = await work((request) => this.#ask(request, ending));
      ending.throwIfAborted();
      return result;
    } catch (error) {
      // Ends questions that `work` has left pending.
      over.abort(isOutOfMemory(error) ? tooExpensive(`${HEAP_MB} MB of memory`) : error);
      await this.terminate();
      throw over.signal.reason;
    } finally {
      clearInterval(timer);
      ending.removeEventListener('abort', this.terminate);
    }
  }

  async #ask(request: FileWorkerRequest, signal: AbortSignal): Promise<FileWorkerReply<Batch>> {
    signal.throwIfAborted();
    const replied = once(this.#worker, 'message', { signal });
    const piece = typeof request === 'object' && 'piece' in request && request.piece;
    this.#worker.postMessage(request, piece ? [piece.buffer] : []);
    const [reply] = await replied;
    return reply;
  }
}

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

const tooExpensive = (taken: string) =>
  fileTooLarge(`To read the file takes more than ${taken}. Split it, or save its sheet as "CSV UTF-8" and send that.`);
