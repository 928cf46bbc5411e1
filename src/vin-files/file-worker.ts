import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { CsvLimits } from './csv/limits.ts';
import { FileRejection } from './rejection.ts';
import { type CsvRow, openVinTable, type TableLayout } from './table.ts';

/** Each request is answered by one reply, and sent only after the reply to the one before. */
export type FileWorkerRequest =
  /** Begins a file: text, which comes in pieces, or the descriptor of a workbook. */
  | { file: 'text' | number; limits: CsvLimits }
  /** A piece of the text; null at its end. */
  | { piece: Uint8Array<ArrayBuffer> | null }
  | 'next';

export type FileWorkerReply<Batch> =
  | 'needs a piece'
  | { layout: TableLayout }
  | { batch: Batch }
  /** Another file may begin; `rejection` says why this one could not be read. */
  | { rejection: Pick<FileRejection, 'code' | 'message' | 'details'> | null };

/** Makes of rows what the thread sends. */
type OpenBatches = (data: unknown) => (rows: readonly CsvRow[]) => unknown;

const port = parentPort as MessagePort;
const { openBatches }: { openBatches: OpenBatches } = await import(workerData.module);
const batchOf = openBatches(workerData.data);

async function exchange(reply: FileWorkerReply<unknown>): Promise<FileWorkerRequest> {
  const requested = once(port, 'message');
  port.postMessage(reply);
  const [request] = await requested;
  return request;
}

async function* pieces(): AsyncGenerator<Buffer> {
  for (;;) {
    const request = await exchange('needs a piece');
    if (typeof request === 'string' || !('piece' in request) || !request.piece) return;
    yield Buffer.from(request.piece.buffer);
  }
}

async function read(file: 'text' | number, limits: CsvLimits): Promise<FileWorkerReply<unknown>> {
  try {
    const { rows, ...layout } = await openVinTable(file === 'text' ? pieces() : file, limits);
    await exchange({ layout });
    for await (const batch of rows) await exchange({ batch: batchOf(batch) });
    return { rejection: null };
  } catch (error) {
    if (!(error instanceof FileRejection)) throw error;
    const { code, message, details } = error;
    return { rejection: { code, message, details } };
  }
}

for (;;) {
  const [request] = await once(port, 'message');
  if ('file' in request) port.postMessage(await read(request.file, request.limits));
}
