import type { Response } from 'express';
import type { Context } from '../core/context.ts';
import type { Loaders } from './loaders.ts';

/** What every resolver gets beside its arguments. */
export interface FaceContext {
  ctx: Context;
  loaders: Loaders;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  closed: AbortSignal;
  idempotencyKey: string | undefined;
  /** Counts what an operation of this cost is worth beyond a request, once however often it is called; throws RateLimited. */
  charge(cost: number): void;
  /** Its `locals` tell the log what was asked for. */
  res: Response;
}
