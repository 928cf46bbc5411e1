import type { Writable } from 'node:stream';
import type { Request, Response } from 'express';
import { type FileUpload, processRequest } from 'graphql-upload-minimal';
import type { Context } from '../../core/context.ts';
import { MalformedJson, UnsupportedMediaType } from '../../core/errors.ts';
import { mayBeTableFile, notTableMessage } from '../../core/imports/csv/head.ts';
import type { UploadedFile } from '../../core/imports/import-vehicles.ts';
import { REPLAYED } from '../../http/body.ts';
import { piecesOf, tornForm } from '../../http/multipart.ts';
import { type AnswerHead, localsOf } from '../../http/request-context.ts';

/** Reads a multipart request up to its first file into `req.body`; the resolver of the mutation reads the file. */
export async function readUpload(req: Request, res: Response, maxFieldSize: number): Promise<void> {
  // An unread file must not hold the connection after the answer.
  res.once('finish', () => {
    req.unpipe();
    req.resume();
  });
  try {
    // Core bounds the file, as for REST.
    req.body = await processRequest(formOf(req), res, { maxFieldSize, maxFiles: 1 });
  } catch (error) {
    throw tornForm(error);
  }
  // Yoga takes the request for JSON whose body is parsed.
  req.headers['content-type'] = 'application/json';
  delete req.headers['content-length'];
}

/** The members of a request that processRequest uses, with two more listeners for its parser. */
const formOf = (req: Request): Request =>
  ({
    headers: req.headers,
    get readableEnded() {
      return req.readableEnded;
    },
    once: req.once.bind(req),
    unpipe: req.unpipe.bind(req),
    resume: req.resume.bind(req),
    pipe(parser: Writable) {
      // A torn form has a second error, which would end the process.
      parser.on('error', () => {});
      parser.prependListener('field', (name: string, value: string) => {
        // The parser replaces what is not UTF-8 by U+FFFD.
        if (value.includes('\ufffd'))
          parser.emit('error', new MalformedJson(`The field ${name} is not UTF-8, or has U+FFFD.`));
      });
      return req.pipe(parser);
    },
  }) as unknown as Request;

/** An uploaded file as it arrives. Throws UnsupportedMediaType and ValidationFailed, also while the file is read. */
export async function openUploadedFile(
  upload: Promise<FileUpload>,
  { left }: Context,
  res: AnswerHead,
): Promise<Pick<UploadedFile, 'file' | 'signal'>> {
  localsOf(res).readsUpload = true;
  try {
    const { mimetype, createReadStream } = await upload;
    if (!mayBeTableFile(mimetype)) throw new UnsupportedMediaType(notTableMessage(mimetype));
    return { file: piecesOf(createReadStream()), signal: left?.() ?? AbortSignal.abort() };
  } catch (error) {
    throw tornForm(error);
  }
}

export const setReplayedHeader = (res: AnswerHead) => res.setHeader(REPLAYED, 'true');
