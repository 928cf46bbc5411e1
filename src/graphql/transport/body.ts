import type { Request, Response } from 'express';
import { ValidationFailed } from '../../core/errors.ts';
import { isJson, jsonReader } from '../../http/json-body.ts';
import type { HttpServices } from '../../http/request-context.ts';

/** What reads a JSON body into `req.body`, whoever is to answer it. */
export function bodyReader({ config }: HttpServices): (req: Request, res: Response) => Promise<void> {
  const readJson = jsonReader(config.LIMIT_JSON_BYTES);
  return async (req, res) => {
    if (req.method !== 'POST' || !isJson(req.headers['content-type'])) return;
    req.body = await readJson(req, res);
    requireOperation(req.body);
  };
}

/**
 * Rejects bodies that Yoga would misunderstand: some it could not tell from a body that is still to be read, and one with
 * a member "then" it takes for the promise of a body.
 */
export function requireOperation(body: unknown): void {
  if (typeof body === 'object' && body !== null && Object.keys(body).length > 0 && !('then' in body)) return;
  throw new ValidationFailed([], 'Send one operation: a JSON object with the member "query".');
}
