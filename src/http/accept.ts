import type { Request } from 'express';

/** Parameters such as `charset`, which Express would take for a part of the type. */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi;

/** The type that the client prefers; undefined if it accepts none. Removes parameters from the request's header. */
export function preferredOf<Type extends string>(req: Request, types: readonly Type[]): Type | undefined {
  if (req.headers.accept) req.headers.accept = req.headers.accept.replaceAll(PARAMETERS, '');
  const found = req.accepts([...types]);
  return types.find((type) => type === found);
}
