import { availableParallelism } from 'node:os';
import type { Config } from '../../config.ts';
import { SharedPlaces } from '../../fairness/shares.ts';
import { FileThread, type TableLayout, type ThreadFile, usualLimits } from '../../vin-files/index.ts';
import { ValidationFailed } from '../errors.ts';
import { asDomainError } from './rejected-file.ts';
import type { CsvRowBatch } from './row-batch.ts';
import { type FileSource, openFileSource, TemporaryDisk } from './temporary-file.ts';

/** Many, since a file that arrives slowly has a thread that hardly works. */
const MOST_THREADS = 32;
const CORES = availableParallelism();
/** An idle thread waits this long for the next file, since starting one takes longer than reading a small file. */
const KEPT_MS = 10_000;
/** LIMIT_FILE_SECONDS is for a file of this size; a small one has SMALLEST_PART of it. */
const MEASURED_BYTES = 100_000_000;
const SMALLEST_PART = 1 / 3;

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

type RowThread = FileThread<readonly string[], CsvRowBatch>;

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
  #idle: RowThread | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: Settings, supportedBrands: readonly string[]) {
    this.disk = new TemporaryDisk(settings.LIMIT_FILE_BYTES);
    this.#settings = settings;
    this.#supported = supportedBrands;
  }

  /** Throws UnsupportedMediaType, PayloadTooLarge, RateLimited, ValidationFailed (also on an abort), and what `file` throws. */
  async read(file: AsyncIterable<Buffer>, reading: FileReadOptions): Promise<void> {
    const source = await openFileSource(file, this.disk, reading.company);
    try {
      await this.#threads.run(reading.company, () => this.#readApart(threadFileOf(source), reading));
    } finally {
      if ('workbook' in source) await source.workbook.discard();
      else await source.text.return(undefined);
    }
  }

  async #readApart(file: ThreadFile, { company, column, signal, onLayout, onBatch }: FileReadOptions): Promise<void> {
    const { LIMIT_FILE_BYTES, LIMIT_FILE_SECONDS } = this.#settings;
    const thread = this.#take();
    const reading = {
      limits: { ...usualLimits, bytes: LIMIT_FILE_BYTES, column },
      signal,
      mostSeconds: (bytes: number) => Math.max(SMALLEST_PART, bytes / MEASURED_BYTES) * LIMIT_FILE_SECONDS,
      turn: <T>(step: () => Promise<T>) => this.#cores.run(company, step),
      onLayout,
      onBatch,
    };
    const rejection = await thread.read(file, reading).catch((error) => {
      throw signal.aborted ? new ValidationFailed([], 'The file is cut off.') : asDomainError(error);
    });
    this.#keep(thread);
    if (rejection) throw asDomainError(rejection);
  }

  #take(): RowThread {
    const thread = this.#idle ?? openThread(this.#supported);
    clearTimeout(this.#timer);
    this.#idle = undefined;
    return thread;
  }

  #keep(thread: RowThread): void {
    void this.#idle?.terminate();
    this.#idle = thread;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#take().terminate(), KEPT_MS).unref();
  }
}

const openThread = (data: readonly string[]): RowThread =>
  new FileThread({
    batches: new URL('./row-batch.ts', import.meta.url),
    data,
    execArgv: ['--import', new URL('../../preload.js', import.meta.url).href],
  });

const threadFileOf = (source: FileSource): ThreadFile => ('workbook' in source ? source.workbook : source);
