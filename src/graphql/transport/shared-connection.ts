import type { Logger } from 'pino';
import { RateLimited, Unavailable } from '../../core/errors.ts';
import { type OperationRequest, type Outcome, operate, refusal } from '../execution/operation.ts';

/** Operations that one connection may have at a time. */
const MOST_OPERATIONS = 50;
/** Of all such connections of this process. */
let underWay = 0;

/** Throws RateLimited for one operation more than a connection may have, of which so many have not ended. */
export function needRoom(operations: number, most = MOST_OPERATIONS): void {
  if (operations < most) return;
  throw new RateLimited(1, `At most ${most} operations at a time on one connection.`);
}

/** The operations of one WebSocket. */
export class SharedConnection {
  readonly #over: AbortSignal;
  readonly #log: Logger;
  #operations = 0;

  /** `over` aborts when the connection is. */
  constructor(over: AbortSignal, log: Logger) {
    this.#over = over;
    this.#log = log;
  }

  /** Runs an operation; what is wrong with it is in its outcome. */
  async operate(
    asked: unknown,
    request: Omit<OperationRequest, 'over' | 'log' | 'onEnd'>,
    /** Throws what speaks against it. */
    count: () => Promise<void> = async () => {},
  ): Promise<Outcome> {
    let onEnd = () => {};
    try {
      onEnd = this.#admit(request.ctx.services.config.LIMIT_CONNECTIONS);
      await count();
      return await operate(asked, { ...request, over: this.#over, log: this.#log, onEnd });
    } catch (error) {
      onEnd();
      return refusal(error as Error, request, this.#log);
    }
  }

  /** Counts an operation, and gives what takes it off the counts. */
  #admit(most: number): () => void {
    needRoom(this.#operations);
    if (underWay >= most) throw new Unavailable('Too many operations are under way. Try again in a moment.');
    this.#operations += 1;
    underWay += 1;
    return () => {
      this.#operations -= 1;
      underWay -= 1;
    };
  }
}
