import { z } from 'zod';
import { ValidationFailed } from '../core/errors.ts';
import { readInput } from '../core/input.ts';
import { once } from './route.ts';

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
