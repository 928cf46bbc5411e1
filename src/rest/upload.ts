import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Context } from '../core/context.ts';
import { DomainError, FleetIdMissing, UnsupportedMediaType, ValidationFailed } from '../core/errors.ts';
import { mayBeTable, noTable } from '../core/imports/csv/head.ts';
import { admitUpload } from '../core/imports/import-vehicles.ts';
import type { TemporaryFile } from '../core/imports/temporary-file.ts';
import { piecesOf, tornForm } from '../http/multipart.ts';

export interface Upload {
  fleetId: string;
  /** The file's bytes as they arrive. Throws ValidationFailed, at its end too: for what is wrong with the rest of the form. */
  file: AsyncIterable<Buffer>;
  /** Frees what the upload holds; to be called when it has been read or rejected. */
  discard(): Promise<void>;
}

const limits = { files: 1, fields: 20, parts: 30, fieldNameSize: 100, fieldSize: 1024, headerPairs: 20 };

/**
 * Opens the upload of a request: a form, or the file itself as the body, for the fleet that the address names (`fromQuery`).
 * Throws FleetIdMissing, UnsupportedMediaType, ValidationFailed, and what `spool` throws.
 */
export function readUpload(ctx: Context, req: IncomingMessage, fromQuery: unknown): Promise<Upload> {
  const fleetId = typeof fromQuery === 'string' && fromQuery.trim() ? fromQuery : undefined;
  return isForm(req) ? readForm(ctx, req, fleetId) : readBody(req, fleetId);
}

const typeOf = (req: IncomingMessage): string => req.headers['content-type'] ?? '';
const isForm = (req: IncomingMessage): boolean => /^multipart\/form-data\b/i.test(typeOf(req));

async function readBody(req: IncomingMessage, fleetId: string | undefined): Promise<Upload> {
  const discard = async () => void req.resume();
  const type = typeOf(req);
  if (!type || !mayBeTable(type)) {
    await discard();
    throw new UnsupportedMediaType(
      'Send a form (multipart/form-data) with the fields fleetId and vins; or, with ?fleetId=, the file itself as text/csv or as a workbook.',
    );
  }
  if (fleetId === undefined) {
    await discard();
    throw new FleetIdMissing();
  }
  return { fleetId, file: bodyOf(req), discard };
}

/** Left early, the rest is for `discard`: a connection that is cut could not carry the answer. */
async function* bodyOf(req: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw error instanceof DomainError ? error : cutOff(error);
  }
  if (!req.complete) throw cutOff(new Error('The client has gone.'));
}

const cutOff = (cause: unknown) => Object.assign(new ValidationFailed([], 'The file is cut off.'), { cause });

/**
 * Reads a multipart form up to its file. When the fleet is named before the file, the file is read as it arrives;
 * else it waits on disk until the form ends, since nobody knows yet whose it is. `fromQuery` is the fleet that the address
 * names, for clients that cannot order their fields.
 */
async function readForm(ctx: Context, req: IncomingMessage, fromQuery: string | undefined): Promise<Upload> {
  const upload = new UploadForm(ctx, req, fromQuery);
  try {
    return await upload.read();
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

class UploadForm {
  readonly #ctx: Context;
  readonly #req: IncomingMessage;
  readonly #form: busboy.Busboy;
  readonly #upload = Promise.withResolvers<Upload>();
  /** Behind the file there may be one part too many, or nothing where the form's end should be. */
  readonly #whole = Promise.withResolvers<void>();
  #fleetId: string | undefined;
  #filed = false;
  /** The file, where it had to wait. */
  #aside: Promise<TemporaryFile> | undefined;

  constructor(ctx: Context, req: IncomingMessage, fleetId: string | undefined) {
    this.#ctx = ctx;
    this.#req = req;
    this.#fleetId = fleetId;
    this.#form = openForm(req);
    this.#whole.promise.catch(() => {});
  }

  read(): Promise<Upload> {
    const form = this.#form;
    form.on('field', (name, value, { valueTruncated }) => {
      // One that is left empty counts as none.
      if (name === 'fleetId' && !valueTruncated) this.#fleetId ||= value.trim() ? value : undefined;
      if (name === 'vins') this.#reject(noFile('must be a file, not a text field'));
    });
    form.on('file', (name, stream, { mimeType }) => this.#onFile(name, stream, mimeType));
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      form.on(event, () => this.#reject(tooMany()));
    form.on('close', () => this.#onEnd());
    form.on('error', (error) => this.#reject(tornForm(error)));
    // stream.pipeline would cut the connection before an error is sent.
    this.#req.on('error', (error) => form.destroy(error));
    this.#req.once('close', () => this.#req.complete || form.destroy(new Error('The client has gone.')));
    this.#req.pipe(form);
    return this.#upload.promise;
  }

  async discard(): Promise<void> {
    // The rest of the body is read and dropped: a client reads the answer only after sending.
    this.#req.unpipe(this.#form).resume();
    this.#form.destroy();
    const file = await this.#aside?.catch(() => undefined);
    await file?.discard();
  }

  #onFile(name: string, stream: Readable, mimeType: string): void {
    stream.on('error', () => {}); // Whoever reads it hears of it; nobody may.
    if (name !== 'vins') return void stream.resume();
    this.#filed = true;
    if (!mayBeTable(mimeType)) return void this.#reject(new UnsupportedMediaType(noTable(mimeType)));
    if (this.#fleetId !== undefined) return void this.#resolve(this.#fleetId, stream);
    this.#aside = spool(this.#ctx, stream);
    this.#aside.catch((error) => this.#reject(error));
  }

  async #onEnd(): Promise<void> {
    if (this.#fleetId === undefined) return this.#reject(new FleetIdMissing());
    if (!this.#filed) return this.#reject(noFile('is required: the file'));
    this.#whole.resolve();
    const file = await this.#aside?.catch(() => undefined);
    if (file) this.#resolve(this.#fleetId, file.content());
  }

  #resolve(fleetId: string, content: AsyncIterable<Buffer>): void {
    this.#upload.resolve({ fleetId, file: piecesOf(content, this.#whole.promise), discard: () => this.discard() });
  }

  #reject(error: unknown): void {
    this.#upload.reject(error);
    this.#whole.reject(error);
  }
}

function openForm(req: IncomingMessage): busboy.Busboy {
  try {
    return busboy({ headers: req.headers, limits, defParamCharset: 'utf8' });
  } catch (error) {
    throw tornForm(error);
  }
}

const tooMany = () =>
  new ValidationFailed([], `The form has too many parts: at most 1 file and ${limits.fields} fields.`);

const noFile = (message: string) => new ValidationFailed([{ path: 'vins', code: 'INVALID_TYPE', message }]);

/** How many files of each company are being written to the disk of this process, to wait there. */
const waiting = new Map<string, number>();

/**
 * Keeps a part on disk until it is known whose it is. Throws Forbidden and RateLimited before a byte is kept;
 * PayloadTooLarge for a file over LIMIT_FILE_BYTES, and RateLimited where the company's are too much.
 */
async function spool(ctx: Context, part: AsyncIterable<Buffer>): Promise<TemporaryFile> {
  const leave = await enter(ctx);
  try {
    return await ctx.services.files.disk.keep(part, ctx.caller?.company ?? '');
  } finally {
    // From here on it is an upload like any other.
    leave();
  }
}

/** Takes one of the company's places; gives how to leave it. */
async function enter(ctx: Context): Promise<() => void> {
  const company = ctx.caller?.company ?? '';
  const before = waiting.get(company) ?? 0;
  // Taken before it is known whether there is one: whoever comes meanwhile counts it.
  waiting.set(company, before + 1);
  const leave = () => {
    const left = (waiting.get(company) ?? 1) - 1;
    if (left > 0) waiting.set(company, left);
    else waiting.delete(company);
  };
  try {
    await admitUpload(ctx, { waiting: before });
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}
