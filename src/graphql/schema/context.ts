import type { GraphQLFieldResolver } from 'graphql';
import type { Context } from '../../core/context.ts';
import { CostExceeded, type DomainError } from '../../core/errors.ts';
import type { AnswerHead, HttpServices } from '../../http/request-context.ts';
import type { Reads } from './planned.ts';

export interface ErrorContext {
  services: HttpServices;
  /** Its `locals` have the request id, and get the code of the first error for the log. */
  res: AnswerHead;
}

export interface OperationRequest extends ErrorContext {
  ctx: Context;
  /** Aborts when the client disconnects or has its answer, its token expires, or the process is to end. */
  closed: () => AbortSignal;
  idempotencyKey: string | undefined;
  payer: string;
  mayChange: boolean;
  onEnd?: () => void;
}

export interface GraphqlContext extends OperationRequest {
  budget: AnswerBudget;
  reads: Reads;
}

const MOST_ANSWER_BYTES = 32 * 1024 * 1024;

/** Counts the objects and bytes that an execution makes. */
export class AnswerBudget {
  readonly #most: number;
  /** Lengths of JSON values, which an answer may hold under many names. */
  readonly lengths = new WeakMap<object, number>();
  #objects = 0;
  #bytes = 0;
  #held = 0;
  domainError: DomainError | null = null;

  constructor(mostObjects: number) {
    this.#most = mostObjects;
  }

  stop(domainError: DomainError): void {
    this.domainError ??= domainError;
  }

  /** Counts objects and bytes; gives the error if they are too many, or the execution was stopped. */
  spend(objects: number, bytes: number): DomainError | null {
    this.#objects += objects;
    this.#bytes += bytes;
    if (this.#objects > this.#most) this.stop(answerTooLarge(this.#most, 'objects'));
    if (this.#bytes > MOST_ANSWER_BYTES) this.stop(answerTooLarge(MOST_ANSWER_BYTES, 'bytes'));
    return this.domainError;
  }

  /** Counts texts that statements gave, which are held until the answer is made; throws CostExceeded. */
  hold(characters: number): void {
    this.#held += characters;
    if (this.#held > MOST_ANSWER_BYTES) this.stop(answerTooLarge(MOST_ANSWER_BYTES, 'bytes'));
    if (this.domainError) throw this.domainError;
  }

  renew(): void {
    this.#objects = this.#bytes = this.#held = 0;
    this.domainError = null;
  }
}

function answerTooLarge(most: number, unit: string): CostExceeded {
  const text = `The answer holds more than ${most.toLocaleString('en')} ${unit}: ask for less at a time.`;
  return new CostExceeded(`${text} If it reports a change, that change was made.`);
}

export type MaybePromise<T> = T | Promise<T>;
export type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;
