import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { dataFolderError, openDataFolder } from './data-folder.ts';
import { StartError } from './database.ts';
import type { PgliteReply, PgliteRequest } from './pglite-worker.ts';
import { traceStatement } from './postgres-connection.ts';
import { openTransaction } from './transactions.ts';

type Answer = Extract<PgliteReply, { result: unknown }>['result'];

/** PostgreSQL in a thread of this process, as a pool of one connection: its queries are synchronous. */
export class PGlitePool implements PostgresPool {
  readonly options = {};
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #turn: Promise<void> = Promise.resolve();
  #lastId = 0;
  #failure: Error | undefined;

  /** Opens (or makes) the database in `{dataDir}/pglite`; throws when another process has it open. */
  static async open(dataDir: string): Promise<PGlitePool> {
    openDataFolder(dataDir);
    const unlock = lock(dataDir);
    const folder = join(dataDir, 'pglite');
    try {
      // PGlite itself waits for ever.
      openDataFolder(folder);
      // A thread of its own creates the database, and ends: else up to 350 MB would stay in memory.
      if (!existsSync(join(folder, 'PG_VERSION'))) await (await PGlitePool.#start(folder)).end();
      const pool = await PGlitePool.#start(folder);
      void pool.#ended.promise.then(unlock);
      return pool;
    } catch (error) {
      unlock();
      throw error instanceof StartError ? error : dataFolderError(folder, error);
    }
  }

  static async #start(folder: string): Promise<PGlitePool> {
    const pool = new PGlitePool(folder);
    await pool.#ready.promise;
    return pool;
  }

  private constructor(workerData: string) {
    // The thread has flags of its own: it rejects some of the process's, and has its own compile cache.
    const execArgv = ['--import', new URL('../preload.js', import.meta.url).href];
    this.#worker = new Worker(new URL('./pglite-worker.ts', import.meta.url), { workerData, execArgv });
    this.#worker.on('message', (reply: PgliteReply) => this.#receive(reply));
    this.#worker.on('error', (error) => {
      this.#failure = new Error('The embedded database has failed.', { cause: error });
    });
    this.#worker.on('exit', () => this.#stopped());
  }

  /** Waits for the connection, which is the caller's alone until released. */
  async connect() {
    refuseInsideTransaction();
    const before = this.#turn;
    const turn = Promise.withResolvers<void>();
    this.#turn = turn.promise;
    await before;
    const query = (sql: string, parameters: readonly unknown[] = [], asTexts = false) =>
      traceStatement(sql, () => this.#ask({ sql, parameters, asTexts }));
    return { query: query as typeof query & PostgresPoolClient['query'], release: turn.resolve };
  }

  /** Gives the rows of a statement. */
  async send(statement: string, values: readonly unknown[], asTexts = false): Promise<unknown[]> {
    const { query, release } = await this.connect();
    return (await query(statement, values, asTexts).finally(release)).rows;
  }

  async end(): Promise<void> {
    if (!this.#failure) this.#worker.postMessage('close' satisfies PgliteRequest);
    await this.#ended.promise;
  }

  #ask(question: Omit<Exclude<PgliteRequest, 'close'>, 'id'>): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>();
    if (this.#failure) return Promise.reject(this.#failure);
    const id = ++this.#lastId;
    this.#worker.postMessage({ id, ...question } satisfies PgliteRequest);
    this.#waiting.set(id, answer);
    return answer.promise;
  }

  #receive(reply: PgliteReply): void {
    if (reply === 'ready') this.#ready.resolve();
    else {
      const answer = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('result' in reply) answer?.resolve(reply.result);
      else answer?.reject(Object.assign(new Error(reply.fault.message), reply.fault));
    }
  }

  #stopped(): void {
    this.#failure ??= new Error('The embedded database is closed.');
    for (const answer of this.#waiting.values()) answer.reject(this.#failure);
    this.#waiting.clear();
    this.#ready.reject(this.#failure);
    this.#ended.resolve();
  }
}

/** With one connection, a query outside the open transaction would wait for it for ever. */
function refuseInsideTransaction(): void {
  if (openTransaction()) {
    throw new Error("A query outside the open transaction: inside em.transactional, use the transaction's own em.");
  }
}

/** Two processes on one folder would corrupt it. The lock of a SQLite file ends with its process. */
function lock(dataDir: string): () => void {
  const file = new DatabaseSync(join(dataDir, 'pglite.lock'), { timeout: 0, open: false });
  try {
    file.open();
    file.exec('pragma locking_mode = exclusive; begin exclusive');
  } catch (error) {
    if (file.isOpen) file.close();
    const busy = error instanceof Error && 'errcode' in error && error.errcode === 5;
    if (!busy) throw dataFolderError(dataDir, error);
    throw new StartError(
      `DATA_DIR ${dataDir} is in use by another process, and the embedded database serves one at a time. ` +
        'Stop the other one, choose another DATA_DIR, or share a server through DATABASE_URL.',
    );
  }
  return () => {
    if (file.isOpen) file.close();
  };
}
