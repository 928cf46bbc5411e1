import { z } from 'zod';
import { ValidationFailed } from '../core/errors.ts';
import { readInput } from '../core/input.ts';
import { membersOf, once, type RestRequest } from './route.ts';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const addQuery = z.object({ mode: once, dryRun: flag.optional() });

/** `?mode=…&dryRun=…` of the endpoints that add vehicles. */
export const readAddQuery = (query: Readonly<Record<string, unknown>>) => readInput(addQuery, query);

/** Rejects these options in a body, where vehicles would be stored without them. Throws ValidationFailed. */
export function requireNoAddQuery(members: readonly string[]): void {
  const errors = members
    .filter((path) => Object.hasOwn(addQuery.shape, path))
    .map((path) => ({ path, code: 'INVALID_VALUE', message: `belongs in the address, as in ?${path}=…` }));
  if (errors.length > 0) throw new ValidationFailed(errors);
}

const dryRunQuery = addQuery.pick({ dryRun: true });

/** `?dryRun=…` of the endpoints that create contracts. */
export function readDryRun(request: RestRequest): boolean {
  requireNoAddQuery(Object.keys(membersOf(request)).filter((name) => name === 'dryRun'));
  return readInput(dryRunQuery, request.query).dryRun ?? false;
}
