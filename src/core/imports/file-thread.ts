import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PayloadTooLarge, ValidationFailed } from '../errors.ts';
import type { Reply, Request, WorkerData } from './file-worker.ts';

/** Heap of a thread; the texts of a workbook lie outside of it. */
const HEAP_MB = 256;
const LOOK_MS = 250;

/** A thread that reads files, one after the other; the process does not wait for it to end. */
export class FileThread {
  readonly #worker: Worker;
  /** What the files before have taken. */
  #before: NodeJS.CpuUsage | undefined;

  constructor(data: WorkerData) {
    this.#worker = new Worker(new URL('./file-worker.ts', import.meta.url), {
      workerData: data,
      // The process's own flags are not all for threads.
      execArgv: ['--import', new URL('../../preload.js', import.meta.url).href],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    // An error while nobody waits for a reply would end the process.
    this.#worker.on('error', () => {});
    this.#worker.unref();
  }

  /**
   * Lets `work` ask the thread about one file. The thread is terminated at once when the signal aborts (ValidationFailed), when it
   * has taken more than `mostSeconds()` of processor time or too much memory (PayloadTooLarge), and when `work` throws.
   */
  async use<T>(
    signal: AbortSignal,
    mostSeconds: () => number,
    work: (ask: (request: Request) => Promise<Reply>) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    const terminate = () => void this.#worker.terminate();
    ending.addEventListener('abort', terminate);
    let late = false;
    const look = async () => {
      const { user, system } = await this.#worker.cpuUsage(this.#before);
      if ((user + system) / 1e6 <= mostSeconds()) return;
      late = true;
      over.abort();
    };
    const timer = setInterval(() => void look().catch(() => {}), LOOK_MS);
    try {
      const result = await work((request) => this.#ask(request, ending));
      ending.throwIfAborted();
      void this.#noteUsage().catch(() => {});
      return result;
    } catch (error) {
      // A question that nobody waits for has no reply any more.
      over.abort();
      await this.#worker.terminate();
      if (signal.aborted) throw new ValidationFailed([], 'The file is cut off.');
      if (late) throw tooExpensive(`${Math.ceil(mostSeconds())} s of processor time`);
      throw isOutOfMemory(error) ? tooExpensive(`${HEAP_MB} MB of memory`) : error;
    } finally {
      clearInterval(timer);
      ending.removeEventListener('abort', terminate);
    }
  }

  terminate(): Promise<unknown> {
    return this.#worker.terminate();
  }

  async #noteUsage(): Promise<void> {
    this.#before = await this.#worker.cpuUsage();
  }

  async #ask(request: Request, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted();
    const replied = once(this.#worker, 'message', { signal });
    this.#worker.postMessage(request, typeof request === 'object' && 'piece' in request ? transferred(request) : []);
    const [reply] = await replied;
    return reply;
  }
}

const transferred = ({ piece }: { piece: Uint8Array<ArrayBuffer> | null }) => (piece ? [piece.buffer] : []);

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

const tooExpensive = (what: string) =>
  new PayloadTooLarge(
    `To read the file takes more than ${what}. Split it, or save its sheet as "CSV UTF-8" and send that.`,
  );
