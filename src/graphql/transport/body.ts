import type { Request, Response } from 'express';
import { ValidationFailed } from '../../core/errors.ts';
import { isJson, jsonReader } from '../../http/json-body.ts';
import type { HttpServices } from '../../http/request-context.ts';

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
