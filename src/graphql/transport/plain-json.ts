import type { Response } from 'express';
import type { ExecutionResult } from 'graphql';
import { sendText } from '../../http/body.ts';
import { httpStatusAndHeaders, resultWithoutHttp } from '../execution/result-errors.ts';
import { isResultStream, type OperationResult, runOperation } from '../execution/run-operation.ts';
import type { OperationRequest } from '../schema/graphql-context.ts';

export interface GraphqlExchange {
  request: OperationRequest;
  /** The operation as it was sent. */
  sent: unknown;
  outcome?: OperationResult;
}

/** Clients that take any get the first. */
export const JSON_TYPES = ['application/json', 'application/graphql-response+json'] as const;

/** Answers by JSON, for which Yoga costs several times as much as a small query; false for a stream, which is left to Yoga. */
export async function answerPlainJson(res: Response, type: string, exchange: GraphqlExchange): Promise<boolean> {
  const outcome = await runOperation(exchange.sent, exchange.request);
  if (isResultStream(outcome)) {
    exchange.outcome = outcome;
    return false;
  }
  sendGraphqlResult(res, type, outcome);
  return true;
}

export function sendGraphqlResult(res: Response, type: string, outcome: string | ExecutionResult): void {
  if (typeof outcome !== 'string') {
    const { status, headers = {} } = httpStatusAndHeaders(outcome.errors, type);
    res.status(status).set(headers);
  }
  res.setHeader('Content-Type', `${type}; charset=utf-8`);
  sendText(res, typeof outcome === 'string' ? outcome : JSON.stringify(resultWithoutHttp(outcome)));
}
