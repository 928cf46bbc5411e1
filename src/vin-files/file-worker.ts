import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { DomainError } from '../core/errors.ts';
import type { CsvLimits } from './csv/limits.ts';
import { type CsvRowBatch, csvRowBatchOf, openVinTable, type TableLayout } from './table.ts';

/** Each request is answered by one reply, and sent only after the reply to the one before. */
export type FileWorkerRequest =
  /** Begins a file: text, which comes in pieces, or the descriptor of a workbook. */
  | { file: 'text' | number; limits: CsvLimits }
  /** A piece of the text; null at its end. */
  | { piece: Uint8Array<ArrayBuffer> | null }
  | 'next';

export type FileWorkerReply =
  | 'needs a piece'
  | { layout: TableLayout }
  | { batch: CsvRowBatch }
  /** Another file may begin; `refusal` says why this one could not be read. */
  | { refusal: SerializedError | null };

/** A DomainError, in a form that passes between threads. */
export type SerializedError = Pick<DomainError, 'code' | 'message' | 'errors' | 'details'>;

const port = parentPort as MessagePort;
/** Brands that a provider serves. */
const supported = new Set<string>(workerData);

async function exchange(reply: FileWorkerReply): Promise<FileWorkerRequest> {
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

async function read(file: 'text' | number, limits: CsvLimits): Promise<FileWorkerReply> {
  try {
    const { rows, ...layout } = await openVinTable(file === 'text' ? pieces() : file, limits);
    await exchange({ layout });
    for await (const batch of rows) await exchange({ batch: csvRowBatchOf(batch, supported) });
    return { refusal: null };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { code, message, errors, details } = error;
    return { refusal: { code, message, errors, details } };
  }
}

for (;;) {
  const [request] = await once(port, 'message');
  if ('file' in request) port.postMessage(await read(request.file, request.limits));
}
