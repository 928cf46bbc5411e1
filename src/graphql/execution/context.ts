import type { Context } from '../../core/context.ts';
import type { AnswerHead } from '../../http/locals.ts';
import { Budget } from './limits.ts';
import type { Plans } from './plan.ts';
import { Reads } from './reads.ts';
import type { Variables } from './selected.ts';

/** What is known of a request beside the operation that it sends. */
export interface Request {
  ctx: Context;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  closed: () => AbortSignal;
  idempotencyKey: string | undefined;
  /** Its `locals` tell the log what was asked for. */
  res: AnswerHead;
}

/** What every resolver gets beside its arguments. */
export class GraphqlContext implements Request {
  readonly ctx: Context;
  readonly closed: () => AbortSignal;
  readonly idempotencyKey: string | undefined;
  readonly res: AnswerHead;
  /** What its answer may still hold. */
  readonly budget: Budget;
  readonly reads: Reads;

  constructor({ ctx, closed, idempotencyKey, res }: Request, plans: Plans, variables: Variables) {
    this.ctx = ctx;
    this.closed = closed;
    this.idempotencyKey = idempotencyKey;
    this.res = res;
    this.budget = new Budget(ctx.services.config.LIMIT_GRAPHQL_COST);
    this.reads = new Reads(ctx, plans, variables);
  }
}
