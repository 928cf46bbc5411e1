import type { Writable } from 'node:stream';
import type { Request, Response } from 'express';
import { processRequest } from 'graphql-upload-minimal';
import { MalformedJson, ValidationFailed } from '../../core/errors.ts';
import { tornForm } from '../../http/multipart.ts';

/** Reads the operation of a multipart request, up to its first file, which the resolver of the mutation reads. */
export async function readUpload(req: Request, res: Response, maxFieldSize: number): Promise<unknown> {
  // An unread file must not hold the connection after the answer.
  res.once('finish', () => {
    req.unpipe();
    req.resume();
  });
  try {
    // Core bounds the file.
    return await processRequest(formOf(req), res, { maxFieldSize, maxFiles: 1 });
  } catch (error) {
    throw tornForm(error);
  }
}

/** The members of a request that processRequest uses, with checks before its parser's fields are taken. */
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
      // Instead of listeners in front of these, which would run all the same.
      const listeners = parser.listeners('field');
      parser.removeAllListeners('field');
      let operations = '';
      parser.on('field', (name: string, value: string, info: unknown) => {
        if (name === 'operations') operations = value;
        const error = fieldError(name, value, operations);
        if (error) parser.emit('error', error);
        else for (const take of listeners) take.call(parser, name, value, info);
      });
      return req.pipe(parser);
    },
  }) as unknown as Request;

function fieldError(name: string, value: string, operations: string): Error | null {
  // The parser replaces what is not UTF-8 by U+FFFD.
  if (value.includes('\ufffd')) return new MalformedJson(`The field ${name} is not UTF-8, or has U+FFFD.`);
  if (name !== 'map' || namesPlaces(operations, value)) return null;
  return new ValidationFailed([], 'The field map names a place that operations has not: write null where a file goes.');
}

/**
 * Whether each path of a map leads to a place in `operations`. The parser follows inherited members, too, and so would
 * let a client change `hasOwnProperty.call` for the whole process.
 */
function namesPlaces(operations: string, map: string): boolean {
  const paths: unknown[] = Object.values(parsed(map) ?? {}).flat();
  const root = parsed(operations);
  return paths.every((path) => typeof path === 'string' && isPlaceIn(root, path));
}

/** The value of a JSON text; null for another, of which the parser says what is malformed. */
function parsed(text: string): object | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** In a loop: a path may be as deep as its form is long. */
function isPlaceIn(root: unknown, path: string): boolean {
  const [last = '', ...names] = path.split('.').reverse();
  let place = root;
  for (const name of names.reverse()) {
    if (!isObject(place) || !Object.hasOwn(place, name)) return false;
    place = place[name as never];
  }
  // A member for the file may be missing, an item may not: a list would become as long as its number says.
  return isObject(place) && (!Array.isArray(place) || Object.hasOwn(place, last));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
