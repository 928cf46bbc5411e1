import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import busboy from 'busboy';
import { parse } from 'content-disposition';
import type { Context } from '../core/context.ts';
import {
  DomainError,
  FleetIdMissing,
  PayloadTooLarge,
  UnsupportedMediaType,
  ValidationFailed,
} from '../core/errors.ts';
import { spoolUpload } from '../core/imports/import-run.ts';
import { piecesOf, tornForm } from '../http/multipart.ts';
import { mayBeTableFile, notTableMessage } from '../vin-files/index.ts';
import { requireNoAddQuery } from './add-query.ts';
import type { RestRequest } from './route.ts';

/** What the address or fields of the form name, once. */
type Named = Partial<Record<'fleetId' | 'column', string>>;

interface Upload extends Named {
  fleetId: string;
  /** The file's bytes as they arrive. Throws ValidationFailed, at its end too: for what is wrong with the rest of the form. */
  file: AsyncIterable<Buffer>;
  /** The file's name, as the client sent it. */
  name: string | undefined;
  /** Frees what the upload holds; to be called when it has been read or rejected. */
  discard(): Promise<void>;
}

const limits = { files: 1, fields: 20, parts: 30, fieldNameSize: 100, fieldSize: 1024, headerPairs: 20 };

/** Opens a form, or the file as the body. Throws FleetIdMissing, UnsupportedMediaType, ValidationFailed, and as `spoolUpload`. */
export async function readUpload(ctx: Context, req: IncomingMessage, query: RestRequest['query']): Promise<Upload> {
  const named: Named = {};
  for (const name of NAMES) take(named, name, query[name]);
  const type = req.headers['content-type'] ?? '';
  const discard = async () => void req.resume();
  try {
    if (/^multipart\/form-data\b/i.test(type)) return await readForm(ctx, req, named);
    if (!type || !mayBeTableFile(type)) throw new UnsupportedMediaType(SEND_A_FORM);
    const { fleetId, ...others } = named;
    if (fleetId === undefined) throw new FleetIdMissing();
    const body = { file: bodyOf(req), discard, ...unpackedOf(req, ctx.services.config.LIMIT_FILE_BYTES) };
    return { fleetId, ...others, ...body, name: nameOf(req) };
  } catch (error) {
    await discard();
    throw error;
  }
}

const NAMES = ['fleetId', 'column'] as const;

/** Blank counts as none. Throws ValidationFailed for a second value, since rows must not go where one of them does not say. */
function take(named: Named, name: keyof Named, value: unknown): void {
  if (typeof value !== 'string' || !value.trim()) return;
  named[name] ??= value;
  if (named[name] === value) return;
  const message = 'is named by two values: name one, in the address or in one field of the form';
  throw new ValidationFailed([{ path: name, code: 'INVALID_VALUE', message }]);
}

const SEND_A_FORM =
  'Send a form (multipart/form-data) with the fields fleetId and vins; or, with ?fleetId=, the file itself as text/csv or as a workbook.';

/** The file's name in Content-Disposition. Node gives a header's bytes as characters, and many clients send UTF-8. */
function nameOf({ headers }: IncomingMessage): string | undefined {
  const bytes = Buffer.from(headers['content-disposition'] ?? '', 'latin1');
  return parse(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')).parameters.filename;
}

/** The body's pieces. Left early, the rest is for `discard`, since a connection that is cut could not carry the answer. */
async function* bodyOf(req: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw error instanceof DomainError ? error : cutOff(error);
  }
  if (!req.complete) throw cutOff(clientHasLeft());
}

const unpackers = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** The body without its Content-Encoding, if it has one. What is unpacked is bounded by its reader, what arrives by `most` bytes. */
function unpackedOf(req: IncomingMessage, most: number): Pick<Upload, 'file' | 'discard'> | undefined {
  const encoding = req.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return undefined;
  const unpacker = unpackers.get(encoding)?.();
  if (!unpacker) {
    const advice = 'Send the file as it is, or with gzip, deflate or br.';
    throw new UnsupportedMediaType(`The Content-Encoding ${encoding} is not understood. ${advice}`);
  }
  // The reader, if there is one, gets the error by itself.
  unpacker.on('error', () => {});
  let left = most;
  req.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) unpacker.destroy(new PayloadTooLarge(`The body is larger than ${most.toLocaleString('en')} bytes.`));
  });
  req.once('close', () => req.complete || unpacker.destroy(cutOff(clientHasLeft())));
  req.pipe(unpacker);
  const discard = async () => {
    req.unpipe(unpacker).resume();
    unpacker.destroy();
  };
  return { file: mended(unpacker, encoding), discard };
}

async function* mended(unpacked: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  try {
    yield* unpacked;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR') throw cutOff(error);
    const message = `The body cannot be unpacked: it is not ${encoding}, as Content-Encoding says, or damaged.`;
    throw Object.assign(new ValidationFailed([], message), { cause: error });
  }
}

const cutOff = (cause: unknown) => Object.assign(new ValidationFailed([], 'The file is cut off.'), { cause });
const clientHasLeft = () => new Error('The client has left.');

/** Reads a form up to its file, which waits on disk for the end of the form if its fleet is not known before. */
async function readForm(ctx: Context, req: IncomingMessage, named: Named): Promise<Upload> {
  const form = openForm(req);
  const upload = Promise.withResolvers<Upload>();
  /** Behind the file there may be one part too many, or nothing where the form's end should be. */
  const whole = Promise.withResolvers<void>();
  whole.promise.catch(() => {});
  let hasFile = false;
  let fileName: string | undefined;
  let aside: ReturnType<typeof spoolUpload> | undefined;

  async function discard(): Promise<void> {
    // The rest of the body is read and dropped: a client reads the answer only after sending.
    req.unpipe(form).resume();
    form.destroy();
    await (await aside?.catch(() => undefined))?.discard();
  }
  function reject(error: unknown): void {
    upload.reject(error);
    whole.reject(error);
  }
  const resolve = (fleetId: string, content: AsyncIterable<Buffer>) =>
    upload.resolve({ ...named, fleetId, file: piecesOf(content, whole.promise), name: fileName, discard });

  form.on('field', (name, value, { valueTruncated }) => {
    // The file may be read already.
    if (name === 'column' && hasFile && !aside) reject(lateColumn());
    if (name === 'vins') reject(noFile('must be a file, not a text field'));
    try {
      for (const one of NAMES) if (name === one && !valueTruncated) take(named, one, value);
      requireNoAddQuery([name]);
    } catch (error) {
      reject(error);
    }
  });
  form.on('file', (name, stream, { mimeType, filename }) => {
    // The reader, if there is one, gets the error by itself.
    stream.on('error', () => {});
    if (name !== 'vins') return void stream.resume();
    hasFile = true;
    fileName = filename;
    if (!mayBeTableFile(mimeType)) return reject(new UnsupportedMediaType(notTableMessage(mimeType)));
    if (named.fleetId !== undefined) return resolve(named.fleetId, stream);
    aside = spoolUpload(ctx, stream);
    aside.catch(reject);
  });
  form.on('close', async () => {
    const { fleetId } = named;
    if (fleetId === undefined) return reject(new FleetIdMissing());
    if (!hasFile) return reject(noFile('is required: the file'));
    whole.resolve();
    const file = await aside?.catch(() => undefined);
    if (file) resolve(fleetId, file.content());
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) form.on(event, () => reject(tooMany()));
  form.on('error', (error) => reject(tornForm(error)));
  // stream.pipeline would cut the connection before an error is sent.
  req.on('error', (error) => form.destroy(error));
  req.once('close', () => req.complete || form.destroy(clientHasLeft()));
  req.pipe(form);
  return upload.promise.catch(async (error) => {
    await discard();
    throw error;
  });
}

function openForm(req: IncomingMessage): busboy.Busboy {
  try {
    return busboy({ headers: req.headers, limits, defParamCharset: 'utf8' });
  } catch (error) {
    throw tornForm(error);
  }
}

const lateColumn = () => {
  const message = 'must come before the file in the form, or stand in the address, as in ?column=…';
  return new ValidationFailed([{ path: 'column', code: 'INVALID_VALUE', message }]);
};

const tooMany = () =>
  new ValidationFailed([], `The form has too many parts: at most 1 file and ${limits.fields} fields.`);

const noFile = (message: string) => new ValidationFailed([{ path: 'vins', code: 'INVALID_TYPE', message }]);
