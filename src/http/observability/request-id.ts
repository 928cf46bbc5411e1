import { randomUUID } from 'node:crypto';

/** Long enough for any tracing scheme, short and plain enough for a log line and a header. */
const SANE = /^[\w.:-]{1,128}$/;

/** The name of a request: its caller's own (X-Request-Id) if that is a sane one. */
export const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && SANE.test(given) ? given : randomUUID();
