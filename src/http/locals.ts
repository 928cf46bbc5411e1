import type { Request, Response } from 'express';

/** What is found out about a request on its way, for its answer, the log, metrics and traces. */
export interface Locals {
  requestId: string;
  /** The address as the interface writes it, such as `/fleets/:fleetId`. */
  route?: string;
  company?: string | undefined;
  /** The code of the error that it was answered with. */
  code?: string | undefined;
  /** What a GraphQL operation asks for: its type and first field. */
  operation?: string;
  /** The GraphQL operation has no name. */
  anonymous?: boolean;
  /** Stands where a file comes with the request; aborts when its client has gone. */
  upload?: AbortSignal;
  /** SHA-256 of the body in hex, where an Idempotency-Key came with it. */
  digest?: string;
}

/** What is told of an answer beside its body. An operation on a connection with several of them has no headers of its own. */
export type AnswerHead = Pick<Response, 'locals' | 'setHeader'>;

/** Express leaves `res.locals` untyped; this is the one place that says what is in it. */
export const localsOf = (res: Pick<Response, 'locals'>): Locals => res.locals as Locals;

/** What a request asked for, in the words of its interface. Never the address, in which a VIN may stand. */
export function operationOf(req: Request, res: Response): string {
  const { operation, route } = localsOf(res);
  return operation ?? `${req.method} ${route ?? '(no route)'}`;
}
