import type { Request } from 'express';

/** Parameters such as `charset`, which Express would take for a part of the type. */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi;

/** The type that the client prefers; undefined if it accepts none. Removes parameters from the request's header. */
export function preferredOf<Type extends string>(req: Request, types: readonly Type[]): Type | undefined {
  const { accept = '*/*' } = req.headers;
  // Most clients send one type: to negotiate costs more than to answer by a short text.
  const only = accept === '*/*' ? types[0] : types.find((type) => type === accept);
  if (only) return only;
  req.headers.accept = accept.replaceAll(PARAMETERS, '');
  const found = req.accepts([...types]);
  return types.find((type) => type === found);
}
