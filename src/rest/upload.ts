import type { IncomingMessage } from 'node:http';
import busboy from 'busboy';
import type { Context } from '../core/context.ts';
import { DomainError, FleetIdMissing, UnsupportedMediaType, ValidationFailed } from '../core/errors.ts';
import { mayBeCsv } from '../core/imports/csv/csv.ts';
import { type SpooledFile, spool } from './spool.ts';

export interface Upload {
  fleetId: string;
  /** The file's bytes as they arrive. Throws ValidationFailed, at its end too: for what is wrong with the rest of the form. */
  file: AsyncIterable<Buffer>;
  /** Frees what the upload holds; to be called when it has been read or rejected. */
  discard(): Promise<void>;
}

const limits = { files: 1, fields: 20, parts: 30, fieldNameSize: 100, fieldSize: 1024, headerPairs: 20 };

/**
 * Reads a multipart form up to its file. When the fleet is named before the file, the file is read as it arrives;
 * else it waits on disk until the form ends, since nobody knows yet whose it is. `fromQuery` is the fleet that the address
 * names, for clients that cannot order their fields.
 * Throws FleetIdMissing, UnsupportedMediaType, ValidationFailed, and what `spool` throws.
 */
export async function readUpload(ctx: Context, req: IncomingMessage, fromQuery: unknown): Promise<Upload> {
  const form = openForm(req);
  const { promise, resolve, reject } = Promise.withResolvers<Upload>();
  let fleetId = typeof fromQuery === 'string' && fromQuery.trim() ? fromQuery : undefined;
  let aside: Promise<SpooledFile> | undefined;
  const discard = async () => {
    // What is left of the body is read and dropped: a client that is still sending would not hear the answer.
    req.unpipe(form).resume();
    form.destroy();
    const file = await aside?.catch(() => undefined);
    await file?.discard();
  };
  let filed = false;
  // Behind the file there may be one part too many, or nothing where the form's end should be.
  const whole = Promise.withResolvers<void>();
  whole.promise.catch(() => {});
  const refuse = (error: unknown) => {
    reject(error);
    whole.reject(error);
  };

  form.on('field', (name, value, { valueTruncated }) => {
    // One that is left empty counts as none.
    if (name === 'fleetId' && !valueTruncated) fleetId ||= value.trim() ? value : undefined;
    if (name === 'vins') refuse(noFile('must be a file, not a text field'));
  });
  form.on('file', (name, stream, { mimeType }) => {
    stream.on('error', () => {}); // Whoever reads it hears of it; nobody may.
    if (name !== 'vins') return void stream.resume();
    filed = true;
    if (!mayBeCsv(mimeType))
      return refuse(new UnsupportedMediaType(`The file is labelled ${mimeType}; send CSV text.`));
    if (fleetId !== undefined) return resolve({ fleetId, file: piecesOf(stream, whole.promise), discard });
    aside = spool(ctx, stream);
    aside.catch(refuse);
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    form.on(event, () =>
      refuse(new ValidationFailed([], `The form has too many parts: at most 1 file and ${limits.fields} fields.`)),
    );
  }
  form.on('close', async () => {
    if (fleetId === undefined) return refuse(new FleetIdMissing());
    if (!filed) return refuse(noFile('is required: the CSV file'));
    whole.resolve();
    const file = await aside?.catch(() => undefined);
    if (file) resolve({ fleetId, file: piecesOf(file.content(), whole.promise), discard });
  });
  form.on('error', (error) => refuse(tornForm(error)));
  // Not by pipeline, which would cut the connection before an error is out.
  req.on('error', (error) => form.destroy(error));
  req.once('close', () => req.complete || form.destroy(new Error('The client has gone.')));
  req.pipe(form);
  return promise.catch(async (error) => {
    await discard();
    throw error;
  });
}

function openForm(req: IncomingMessage): busboy.Busboy {
  const type = req.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) {
    throw new UnsupportedMediaType('Send the file as multipart/form-data, with the fields fleetId and vins.');
  }
  try {
    return busboy({ headers: req.headers, limits, defParamCharset: 'utf8' });
  } catch (error) {
    throw tornForm(error);
  }
}

const noFile = (message: string) => new ValidationFailed([{ path: 'vins', code: 'INVALID_TYPE', message }]);

const tornForm = (cause: unknown) =>
  cause instanceof DomainError
    ? cause
    : Object.assign(new ValidationFailed([], 'The multipart form is torn or cut off.'), { cause });

async function* piecesOf(file: AsyncIterable<Buffer>, whole: Promise<void>): AsyncGenerator<Buffer> {
  try {
    yield* file;
    await whole;
  } catch (error) {
    throw tornForm(error);
  }
}
