import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Caller } from '../../core/context.ts';
import { NotFound, Unauthenticated, Unavailable } from '../../core/errors.ts';
import { closedOf } from '../../http/connections/closed.ts';
import type { HttpServices } from '../../http/request-context.ts';
import type { GraphqlContext } from '../execution/context.ts';
import { OperationStream } from './operation-stream.ts';

const TOKEN = 'x-graphql-event-stream-token';

/**
 * GraphQL over SSE in its single connection mode: PUT reserves a stream, GET opens it, POST begins an operation whose results
 * go there, DELETE ends one. Streams are of this process and their caller. False for requests that are none of these.
 */
export function singleConnection({ config, ending, log }: HttpServices) {
  const streams = new Map<string, OperationStream>();

  function reserve(caller: Caller): string {
    if (streams.size >= config.LIMIT_CONNECTIONS) throw new Unavailable('Too many streams are open. Try again later.');
    const token = randomUUID();
    const stream = new OperationStream(caller, log);
    streams.set(token, stream);
    stream.over.addEventListener('abort', () => streams.delete(token));
    return token;
  }

  return async (req: Request, res: Response, context: GraphqlContext): Promise<boolean> => {
    const { method, query } = req;
    const token = req.headers[TOKEN] ?? (method === 'GET' ? query.token : undefined);
    if (method !== 'PUT' && token === undefined) return false;
    const { caller } = context.ctx;
    if (!caller) throw new Unauthenticated('This needs a bearer token.', null);
    if (method === 'PUT') {
      res.status(201).type('text/plain').send(reserve(caller));
      return true;
    }
    const stream = streams.get(String(token));
    if (!stream?.isOf(caller)) throw new NotFound('There is no event stream with this token here: reserve one.');
    if (method === 'GET') stream.open(res, () => closedOf(res, ending, caller));
    else if (method === 'POST') {
      await stream.begin(req.body, context, caller);
      res.status(202).end();
    } else if (method === 'DELETE') {
      stream.end(String(query.operationId));
      res.status(200).end();
    } else return false;
    return true;
  };
}
