import type { Request, Response } from 'express';
import type { ExecutionResult } from 'graphql';
import { sendText } from '../../http/body.ts';
import { httpStatusAndHeaders, resultWithoutHttp } from '../execution/errors.ts';
import { isResultStream, runOperation } from '../execution/run.ts';
import type { GraphqlExchange } from './yoga.ts';

export const GRAPHQL_RESPONSE_TYPE = 'application/graphql-response+json';

/** The media type if request and answer are plain JSON: Yoga costs several times as much as a small query. */
function answerType({ method, headers }: Request): string | null {
  const { accept = '*/*', 'content-type': type = '' } = headers;
  if (method !== 'POST' || !/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) return null;
  if (accept === GRAPHQL_RESPONSE_TYPE) return GRAPHQL_RESPONSE_TYPE;
  return accept === '*/*' || /^application\/json(?:\s*,\s*(?:text\/plain|\*\/\*))*$/.test(accept)
    ? 'application/json'
    : null;
}

/** Answers plain JSON; false for other requests, and for a subscription, whose stream is left to Yoga. */
export async function answerPlainJson(req: Request, res: Response, exchange: GraphqlExchange): Promise<boolean> {
  const type = answerType(req);
  if (!type) return false;
  const outcome = await runOperation(req.body, exchange.request);
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
