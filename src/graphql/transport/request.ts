import type { Request, Response } from 'express';
import { type FileUpload, processRequest } from 'graphql-upload-minimal';
import { MalformedJson, UnsupportedMediaType, ValidationFailed } from '../../core/errors.ts';
import { mayBeTable, noTable } from '../../core/imports/csv/head.ts';
import type { Upload } from '../../core/imports/import-vehicles.ts';
import { isJson, jsonReader } from '../../http/body.ts';
import { leftOf } from '../../http/connections/closed.ts';
import { piecesOf, tornForm } from '../../http/multipart.ts';
import { type AnswerHead, type HttpServices, localsOf } from '../../http/request-context.ts';

/** What a page of another site can send without the browser asking first. Nothing said counts as such. */
const SIMPLE = /^(?:$|multipart\/form-data|application\/x-www-form-urlencoded|text\/plain)/i;
const KNOWN = /^(?:multipart\/form-data|application\/(?:json|graphql\+json|graphql|x-www-form-urlencoded))(?:\s*;|$)/i;
/** Any of them makes the browser ask first, which other sites are denied. */
const PROOFS = ['authorization', 'x-graphql-yoga-csrf', 'apollo-require-preflight', 'graphql-require-preflight'];

/** Rejects what another site could have a browser send in the name of its user, and bodies nobody here can read. */
export function requirePreflight(req: Request): void {
  if (req.method !== 'POST') return;
  const type = req.headers['content-type'] ?? '';
  if (SIMPLE.test(type) && !PROOFS.some((name) => name in req.headers)) {
    throw new ValidationFailed(
      [],
      `A POST of this content type needs one of the headers ${PROOFS.join(', ')}, so that no other site can send it.`,
    );
  }
  if (!KNOWN.test(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
}

/** What reads a JSON body into `req.body`, whoever is to answer it. */
export function bodyReader({ config }: HttpServices): (req: Request, res: Response) => Promise<void> {
  const readJson = jsonReader(config.LIMIT_JSON_BYTES);
  return async (req, res) => {
    if (req.method !== 'POST' || !isJson(req.headers['content-type'])) return;
    req.body = operationIn(await readJson(req, res));
  };
}

const MEMBERS = ['query', 'variables', 'operationName', 'extensions'];

/**
 * The members of an operation in a body; clients may send others, which mean nothing here. Throws ValidationFailed for what
 * has none of them: Yoga could not tell some such bodies from one that is still to be read.
 */
export function operationIn(body: unknown): Record<string, unknown> {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const given = (isObject ? body : {}) as Record<string, unknown>;
  const operation: Record<string, unknown> = {};
  for (const name of MEMBERS) if (Object.hasOwn(given, name)) operation[name] = given[name];
  if (Object.keys(operation).length > 0) return operation;
  throw new ValidationFailed([], 'Send one operation: a JSON object with the member "query".');
}

/** Reads a multipart request up to its first file; the file itself is read by whoever resolves the mutation. */
export function uploads({ config }: HttpServices): (req: Request, res: Response) => Promise<void> {
  // How big a file may be is for core to say, as for REST: it counts the bytes as it reads them.
  const limits = { maxFieldSize: config.LIMIT_JSON_BYTES, maxFiles: 1 };
  return async (req, res) => {
    if (!req.is('multipart/form-data')) return;
    localsOf(res).upload = leftOf(res);
    // What nobody read of the file must not hold the connection when the answer is out.
    res.once('finish', () => {
      req.unpipe();
      req.resume();
    });
    watchParser(req);
    try {
      req.body = operationIn(await processRequest(req, res, limits));
    } catch (error) {
      throw tornForm(error);
    }
    // For Yoga this is now a JSON request whose body is parsed.
    req.headers['content-type'] = 'application/json';
    delete req.headers['content-length'];
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

/** An uploaded file as it arrives. Throws UnsupportedMediaType and ValidationFailed, then and now. */
export async function uploadOf(upload: Promise<FileUpload>, res: AnswerHead): Promise<Pick<Upload, 'file' | 'signal'>> {
  try {
    const { mimetype, createReadStream } = await upload;
    if (!mayBeTable(mimetype)) throw new UnsupportedMediaType(noTable(mimetype));
    return { file: piecesOf(createReadStream()), signal: localsOf(res).upload ?? AbortSignal.abort() };
  } catch (error) {
    throw tornForm(error);
  }
}
