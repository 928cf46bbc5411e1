import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Config } from '../../config.ts';
import { Shares } from '../../fairness/shares.ts';
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from '../errors.ts';
import type { Refusal, Reply, Request, WorkerData } from './file-worker.ts';
import type { Batch, TableLayout } from './table.ts';
import { Disk, openSource, type Source } from './temporary-file.ts';

/** Threads in all: a file that arrives slowly has one, and hardly works. */
const MOST_THREADS = 32;
/** An idle thread waits this long for the next file, since starting one takes longer than reading a small file. */
const KEPT_MS = 10_000;
/** LIMIT_FILE_SECONDS is for a file of this size; a small one has SMALLEST_PART of it. */
const MEASURED_BYTES = 100_000_000;
const SMALLEST_PART = 1 / 3;

const shape = { rowLength: 64 * 1024, columns: 256, fieldLength: 8 * 1024, rows: 50_000_000 };

type Settings = Pick<Config, 'LIMIT_FILE_BYTES' | 'LIMIT_FILE_SECONDS'>;

export interface Reading {
  company: string;
  signal: AbortSignal;
  onLayout(layout: TableLayout): Promise<void>;
  /** One more batch is read until this has resolved. */
  onBatch(batch: Batch): Promise<void>;
}

/**
 * Reads uploaded files outside the event loop, each in a thread of its own. As many threads work at a time as there are cores.
 * Companies take turns at them piece by piece, so neither a large file nor a slow client holds up others.
 */
export class FileReaders {
  readonly disk: Disk;
  /** Files that are stored at a time, each on a connection of its own for as long as that takes. */
  readonly storing = new Shares({ capacity: 4, reserve: 1 });
  readonly #settings: Settings;
  readonly #supported: readonly string[];
  readonly #threads = new Shares({ capacity: MOST_THREADS, reserve: MOST_THREADS / 4 });
  readonly #cores = new Shares({ capacity: availableParallelism(), reserve: Math.floor(availableParallelism() / 2) });
  #idle: FileThread | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `supported` are the brands that a provider serves. */
  constructor(settings: Settings, supported: readonly string[]) {
    this.disk = new Disk(settings.LIMIT_FILE_BYTES);
    this.#settings = settings;
    this.#supported = supported;
  }

  /** Throws UnsupportedMediaType, PayloadTooLarge, RateLimited, ValidationFailed (also when `signal` aborts), and what `file` throws. */
  async read(file: AsyncIterable<Buffer>, reading: Reading): Promise<void> {
    const source = await openSource(file, this.disk, reading.company);
    try {
      await this.#threads.run(reading.company, () => this.#readApart(source, reading));
    } finally {
      if ('workbook' in source) await source.workbook.discard();
      else await source.text.return(undefined);
    }
  }

  async #readApart(source: Source, reading: Reading): Promise<void> {
    let bytes = 'workbook' in source ? source.workbook.bytes : 0;
    const mostSeconds = () => Math.max(SMALLEST_PART, bytes / MEASURED_BYTES) * this.#settings.LIMIT_FILE_SECONDS;
    const piece = async () => {
      const { value } = 'text' in source ? await source.text.next() : {};
      bytes += value?.length ?? 0;
      // A copy, since the buffer of which it is a part goes to the thread as a whole.
      return { piece: value ? new Uint8Array(value) : null };
    };
    const limits = { ...shape, bytes: this.#settings.LIMIT_FILE_BYTES };
    const first: Request = { file: 'workbook' in source ? source.workbook.fd : 'text', limits };
    const thread = this.#take();
    const refusal = await thread.use(reading.signal, mostSeconds, (ask) =>
      readAll(first, piece, reading, (request) => this.#cores.run(reading.company, () => ask(request))),
    );
    this.#keep(thread);
    if (refusal) throw errorOf(refusal);
  }

  #take(): FileThread {
    const thread = this.#idle ?? new FileThread({ supported: this.#supported });
    clearTimeout(this.#timer);
    this.#idle = undefined;
    return thread;
  }

  #keep(thread: FileThread): void {
    const spare = this.#idle;
    this.#idle = thread;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#take().terminate(), KEPT_MS).unref();
    void spare?.terminate();
  }
}

async function readAll(
  first: Request,
  piece: () => Promise<Request>,
  { onLayout, onBatch }: Reading,
  ask: (request: Request) => Promise<Reply>,
): Promise<Refusal | null> {
  for (let reply = await ask(first); ; ) {
    if (reply === 'needs a piece') {
      reply = await ask(await piece());
    } else if ('layout' in reply) {
      await onLayout(reply.layout);
      reply = await ask('next');
    } else if ('batch' in reply) {
      const next = ask('next');
      // Awaited below, unless the batch fails.
      next.catch(() => {});
      await onBatch(reply.batch);
      reply = await next;
    } else {
      return reply.refusal;
    }
  }
}

function errorOf({ code, message, errors, details }: Refusal): Error {
  if (code === 'PAYLOAD_TOO_LARGE') return new PayloadTooLarge(message);
  if (code === 'UNSUPPORTED_MEDIA_TYPE') return new UnsupportedMediaType(message);
  return new ValidationFailed(errors ?? [], message, details);
}

/** Heap of a thread; the texts of a workbook lie outside of it. */
const HEAP_MB = 256;
const LOOK_MS = 250;

/** A thread that reads files, one after the other; the process does not wait for it to end. */
class FileThread {
  readonly #worker: Worker;
  /** Processor time of the files before. */
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
      // Pending questions of the thread have no reader any more.
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
