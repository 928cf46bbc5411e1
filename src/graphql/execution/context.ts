import type { Context } from '../../core/context.ts';
import type { AnswerHead } from '../../http/locals.ts';
import { Budget } from './budget.ts';
import { Reads } from './reads.ts';

/** What every resolver gets beside its arguments. */
export interface GraphqlContext {
  ctx: Context;
  reads: Reads;
  /** What its answer may still hold. */
  budget: Budget;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  closed(): AbortSignal;
  idempotencyKey: string | undefined;
  /** Counts what an operation of this cost is worth beyond a request, once however often it is called; throws RateLimited. */
  charge(cost: number): void;
  /** Its `locals` tell the log what was asked for. */
  res: AnswerHead;
}

/** The GraphqlContext of one request. */
export class GraphqlRequest implements GraphqlContext {
  readonly ctx: Context;
  readonly budget: Budget;
  readonly closed: () => AbortSignal;
  readonly idempotencyKey: string | undefined;
  readonly charge: (cost: number) => void;
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
