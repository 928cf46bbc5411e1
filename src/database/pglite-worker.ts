import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PGlite, type QueryOptions, types } from '@electric-sql/pglite';
import { amcheck } from '@electric-sql/pglite/contrib/amcheck';
import { btree_gist } from '@electric-sql/pglite/contrib/btree_gist';
import { READ_SETTINGS } from './session.ts';

/** A statement; one without parameters may be several, as with a server. `asTexts`: rows are arrays of texts. */
export type PgliteRequest = { id: number; sql: string; parameters: readonly unknown[]; asTexts: boolean } | 'close';

/** The members of PostgreSQL's errors that the main thread reads. */
const FAULT = ['message', 'code', 'detail', 'hint', 'table', 'column', 'constraint', 'routine'] as const;
type Fault = Partial<Record<(typeof FAULT)[number], string>>;
const faultOf = (error: Fault): Fault => Object.fromEntries(FAULT.map((name) => [name, error[name]]));

export type PgliteReply =
  | 'ready'
  | { id: number; result: { command: string; rowCount: number; rows: unknown[] } }
  | { id: number; fault: Fault };

// Large numbers and times as text, exactly as the driver for a server is set up to give them.
const text = (value: string) => value;
const parsers = { 20: text, 1082: text, 1114: text, 1184: text, 1186: text };
const TEXT_ARRAY = 1009;
const asText = Object.fromEntries([...Object.values(types), TEXT_ARRAY].map((type) => [type, text]));

const port = parentPort as MessagePort;
const reply = (message: PgliteReply) => port.postMessage(message);
// PGlite allocates all shared buffers when it starts; the system's cache keeps the other pages.
const own = Object.entries({ shared_buffers: '32MB', ...READ_SETTINGS });
const startParams = [...PGlite.defaultStartParams, ...own.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
const pg = await PGlite.create({ dataDir: workerData, extensions: { amcheck, btree_gist }, parsers, startParams });
await pg.exec("set timezone = 'UTC'");

async function run(sql: string, parameters: readonly unknown[], asTexts: boolean) {
  const options: QueryOptions = asTexts ? { rowMode: 'array', parsers: asText } : {};
  const result =
    parameters.length > 0 ? await pg.query(sql, [...parameters], options) : (await pg.exec(sql, options)).at(-1);
  return { command: result?.command ?? '', rowCount: result?.rowCount ?? 0, rows: result?.rows ?? [] };
}

port.on('message', async (request: PgliteRequest) => {
  if (request === 'close') {
    await pg.close();
    port.close();
    return;
  }
  const { id, sql, parameters, asTexts } = request;
  await run(sql, parameters, asTexts).then(
    (result) => reply({ id, result }),
    (error) => reply({ id, fault: faultOf(error) }),
  );
});
reply('ready');
