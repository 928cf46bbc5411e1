import type { Request, Response } from 'express';
import { type FileUpload, processRequest } from 'graphql-upload-minimal';
import { MalformedJson, UnsupportedMediaType } from '../../core/errors.ts';
import { mayBeTable, noTable } from '../../core/imports/csv/head.ts';
import type { Upload } from '../../core/imports/import-vehicles.ts';
import { leftOf } from '../../http/connections/closed.ts';
import { piecesOf, tornForm } from '../../http/multipart.ts';
import { type AnswerHead, type HttpServices, localsOf } from '../../http/request-context.ts';

/**
 * Reads a multipart request up to its first file into `req.body`; whoever resolves the mutation reads the file itself. False
 * for another request.
 */
export function uploads({ config }: HttpServices): (req: Request, res: Response) => Promise<boolean> {
  // How big a file may be is for core to say, as for REST: it counts the bytes as it reads them.
  const limits = { maxFieldSize: config.LIMIT_JSON_BYTES, maxFiles: 1 };
  return async (req, res) => {
    if (!req.is('multipart/form-data')) return false;
    localsOf(res).upload = leftOf(res);
    // A file that nobody has read to its end must not hold the connection when the answer is out.
    res.once('finish', () => {
      req.unpipe();
      req.resume();
    });
    watchParser(req);
    try {
      req.body = await processRequest(req, res, limits);
    } catch (error) {
      throw tornForm(error);
    }
    // Yoga takes the request for JSON whose body is parsed.
    req.headers['content-type'] = 'application/json';
    delete req.headers['content-length'];
    return true;
  };
}

/**
 * Rejects fields that are not UTF-8, of which the parser leaves U+FFFD. And hears every error: a torn form fails its parser
 * twice, and only the first failure has a listener, so that the second would end the process.
 */
function watchParser(req: Request): void {
  const pipe = req.pipe;
  req.pipe = (parser, options) => {
    parser.on('error', () => {});
    parser.prependListener('field', (name: string, value: string) => {
      if (value.includes('\ufffd'))
        parser.emit('error', new MalformedJson(`The field ${name} is not UTF-8, or has U+FFFD.`));
    });
    return pipe.call(req, parser, options) as typeof parser;
  };
}

/** An uploaded file as it arrives. Throws UnsupportedMediaType and ValidationFailed, also while the file is read. */
export async function uploadOf(upload: Promise<FileUpload>, res: AnswerHead): Promise<Pick<Upload, 'file' | 'signal'>> {
  try {
    const { mimetype, createReadStream } = await upload;
    if (!mayBeTable(mimetype)) throw new UnsupportedMediaType(noTable(mimetype));
    return { file: piecesOf(createReadStream()), signal: localsOf(res).upload ?? AbortSignal.abort() };
  } catch (error) {
    throw tornForm(error);
  }
}
