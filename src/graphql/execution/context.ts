import type { Context } from '../../core/context.ts';
import type { AnswerHead } from '../../http/locals.ts';
import { Budget } from './budget.ts';
import { Reads } from './reads.ts';

/** What every resolver gets beside its arguments. */
export class GraphqlContext {
  readonly ctx: Context;
  /** What its answer may still hold. */
  readonly budget: Budget;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  readonly closed: () => AbortSignal;
  readonly idempotencyKey: string | undefined;
  /** Counts what an operation of this cost is worth beyond a request, once however often it is called; throws RateLimited. */
  readonly charge: (cost: number) => void;
  /** Its `locals` tell the log what was asked for. */
  readonly res: AnswerHead;
  readonly reads: Reads;

  constructor({ ctx, closed, idempotencyKey, charge, res }: Omit<GraphqlContext, 'reads' | 'budget'>) {
    this.ctx = ctx;
    this.budget = new Budget(ctx.services.config.LIMIT_GRAPHQL_COST);
    this.closed = closed;
    this.idempotencyKey = idempotencyKey;
    this.charge = charge;
    this.res = res;
    this.reads = new Reads(ctx);
  }
}
