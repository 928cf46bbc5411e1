import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Config } from '../../config.ts';
import { SharedPlaces } from '../../fairness/shares.ts';
import type { FileWorkerReply, FileWorkerRequest, SerializedError } from '../../vin-files/file-worker.ts';
import type { CsvRowBatch, TableLayout } from '../../vin-files/table.ts';
import { ColumnNotFound, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from '../errors.ts';
import { type FileSource, openFileSource, TemporaryDisk } from './temporary-file.ts';

/** Many, since a file that arrives slowly has a thread that hardly works. */
const MOST_THREADS = 32;
const CORES = availableParallelism();
/** An idle thread waits this long for the next file, since starting one takes longer than reading a small file. */
const KEPT_MS = 10_000;
/** LIMIT_FILE_SECONDS is for a file of this size; a small one has SMALLEST_PART of it. */
const MEASURED_BYTES = 100_000_000;
const SMALLEST_PART = 1 / 3;

const shape = { rowLength: 64 * 1024, columns: 256, fieldLength: 8 * 1024, rows: 50_000_000 };

declare module '../context.ts' {
  interface Services {
    files: FileReaders;
  }
}

type Settings = Pick<Config, 'LIMIT_FILE_BYTES' | 'LIMIT_FILE_SECONDS'>;

export interface FileReadOptions {
  company: string;
  /** The name of the column of VINs, where the caller names it. */
  column?: string | undefined;
  signal: AbortSignal;
  onLayout(layout: TableLayout): Promise<unknown>;
  /** One more batch is read until this has resolved. */
  onBatch(batch: CsvRowBatch): Promise<void>;
}

/** Reads each uploaded file in a thread of its own; companies take turns at the cores piece by piece. */
export class FileReaders {
  readonly disk: TemporaryDisk;
  /** Files that are stored at a time, each on a connection of its own for as long as that takes. */
  readonly storing = new SharedPlaces({ capacity: 4, reserve: 1 });
  /** Files that are being written to disk; `spoolUpload` limits a company's number. */
  readonly spooling = new SharedPlaces();
  readonly #settings: Settings;
  readonly #supported: readonly string[];
  readonly #threads = new SharedPlaces({ capacity: MOST_THREADS, reserve: MOST_THREADS / 4 });
  readonly #cores = new SharedPlaces({ capacity: CORES, reserve: Math.floor(CORES / 2) });
  #idle: FileThread | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: Settings, supportedBrands: readonly string[]) {
    this.disk = new TemporaryDisk(settings.LIMIT_FILE_BYTES);
    this.#settings = settings;
    this.#supported = supportedBrands;
  }

  /** Throws UnsupportedMediaType, PayloadTooLarge, RateLimited, ValidationFailed (also on an abort), and as `file` does. */
  async read(file: AsyncIterable<Buffer>, reading: FileReadOptions): Promise<void> {
    const source = await openFileSource(file, this.disk, reading.company);
    try {
      await this.#threads.run(reading.company, () => this.#readApart(source, reading));
    } finally {
      if ('workbook' in source) await source.workbook.discard();
      else await source.text.return(undefined);
    }
  }

  async #readApart(source: FileSource, { company, column, signal, onLayout, onBatch }: FileReadOptions): Promise<void> {
    let bytes = 'workbook' in source ? source.workbook.bytes : 0;
    const mostSeconds = () => Math.max(SMALLEST_PART, bytes / MEASURED_BYTES) * this.#settings.LIMIT_FILE_SECONDS;
    const limits = { ...shape, bytes: this.#settings.LIMIT_FILE_BYTES, column };
    const thread = this.#take();
    const refusal = await thread.use(signal, mostSeconds, async (send) => {
      const ask = (request: FileWorkerRequest) => this.#cores.run(company, () => send(request));
      let reply = await ask({ file: 'workbook' in source ? source.workbook.fd : 'text', limits });
      for (;;) {
        if (reply === 'needs a piece') {
          const { value } = 'text' in source ? await source.text.next() : {};
          bytes += value?.length ?? 0;
          // A copy, since the buffer of which it is a part goes to the thread as a whole.
          reply = await ask({ piece: value ? new Uint8Array(value) : null });
        } else if ('refusal' in reply) return reply.refusal;
        else {
          const next = ask('next');
          // Awaited below, unless the batch fails.
          next.catch(() => {});
          await ('batch' in reply ? onBatch(reply.batch) : onLayout(reply.layout));
          reply = await next;
        }
      }
    });
    this.#keep(thread);
    if (refusal) throw errorOf(refusal);
  }

  #take(): FileThread {
    const thread = this.#idle ?? new FileThread(this.#supported);
    clearTimeout(this.#timer);
    this.#idle = undefined;
    return thread;
  }

  #keep(thread: FileThread): void {
    void this.#idle?.terminate();
    this.#idle = thread;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#take().terminate(), KEPT_MS).unref();
  }
}

function errorOf({ code, message, errors, details }: SerializedError): Error {
  if (code === 'PAYLOAD_TOO_LARGE') return new PayloadTooLarge(message);
  if (code === 'UNSUPPORTED_MEDIA_TYPE') return new UnsupportedMediaType(message);
  if (code === 'COLUMN_NOT_FOUND') return new ColumnNotFound(message, details);
  return new ValidationFailed(errors ?? [], message, details);
}

/** Heap of a thread, also for the texts of a workbook. */
const HEAP_MB = 256;
const LOOK_MS = 250;

/** A thread that reads files, one after the other; the process does not wait for it to end. */
class FileThread {
  readonly #worker: Worker;

  constructor(supportedBrands: readonly string[]) {
    this.#worker = new Worker(new URL('../../vin-files/file-worker.ts', import.meta.url), {
      workerData: supportedBrands,
      // The process's own flags are not all for threads.
      execArgv: ['--import', new URL('../../preload.js', import.meta.url).href],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    // Without a listener, an error between two files would end the process.
    this.#worker.on('error', () => {});
    this.#worker.unref();
  }

  /** Lets `work` ask the thread about one file. An abort, or too much time or memory, terminates the thread and `work`. */
  async use<T>(
    signal: AbortSignal,
    mostSeconds: () => number,
    work: (ask: (request: FileWorkerRequest) => Promise<FileWorkerReply>) => Promise<T>,
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
      throw signal.aborted ? new ValidationFailed([], 'The file is cut off.') : over.signal.reason;
    } finally {
      clearInterval(timer);
      ending.removeEventListener('abort', this.terminate);
    }
  }

  terminate = (): Promise<unknown> => this.#worker.terminate();

  async #ask(request: FileWorkerRequest, signal: AbortSignal): Promise<FileWorkerReply> {
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
  new PayloadTooLarge(
    `To read the file takes more than ${taken}. Split it, or save its sheet as "CSV UTF-8" and send that.`,
  );
