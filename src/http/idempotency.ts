import { ValidationFailed } from '../core/errors.ts';

/** Printable ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** The header of an answer that an earlier request with the same key was given. */
export const REPLAYED = 'Idempotent-Replayed';

/** The Idempotency-Key of a request, undefined when there is none; throws ValidationFailed for one that is none. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (KEY.test(header)) return header;
  throw new ValidationFailed([
    { path: 'Idempotency-Key', code: 'INVALID_FORMAT', message: 'is 1 to 255 printable ASCII characters' },
  ]);
}
