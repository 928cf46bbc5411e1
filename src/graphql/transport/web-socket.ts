import { randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ExecutionArgs, type ExecutionResult, parse } from 'graphql';
import type { ServerOptions } from 'graphql-ws';
import type { WebSocket } from 'ws';
import { type Caller, contextOf } from '../../core/context.ts';
import {
  CompanyElsewhere,
  DomainError,
  type ErrorCode,
  RateLimited,
  Unauthenticated,
  Unavailable,
} from '../../core/errors.ts';
import { SharedPlaces } from '../../fairness/shares.ts';
import { loadedOnce } from '../../http/assets.ts';
import type { Upgrades } from '../../http/connections/open-server.ts';
import { countRequest, type HttpServices, localsOf, payerOf } from '../../http/request-context.ts';
import { errorResult, resultWithoutHttp } from '../execution/result-errors.ts';
import { isResultStream, type OperationResult, runOperation } from '../execution/run-operation.ts';
import type { OperationRequest } from '../schema/graphql-context.ts';
import { graphqlSchema } from '../schema/schema.ts';
import { ENDED, type Results, WebSocketPeer } from './peer.ts';

/** Close codes of the protocol, and ours. Clients come back after 4403 and 1013, never after 4400, 4401 and 4500. */
const closeCodes: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 4401,
  FORBIDDEN: 4403,
  COMPANY_ELSEWHERE: 4421,
};
const TRY_AGAIN_LATER = 1013;
const FAULT = 4500;

const LATER = 'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\r\n';
const NOT_OPENED = 'a WebSocket could not be opened';
const NO_TOKEN = 'Send the token in connectionParams: { Authorization: "Bearer <token>" }.';
/** graphql-ws executes this in place of a document that has been run. */
const NOTHING = parse('{ __typename }');

/** GraphQL over WebSocket (`graphql-transport-ws`) at /graphql. */
export function graphqlWebSockets(services: HttpServices): Upgrades {
  const server = loadedOnce(() => openServer(services));
  return {
    accepts: ({ headers, url = '' }) =>
      headers.upgrade?.toLowerCase() === 'websocket' && /^\/graphql\/?(?:\?|$)/.test(url),
    async accept(req, socket, head) {
      // An error without a listener would end the process.
      socket.on('error', () => {});
      if (services.ending.aborted) return void socket.end(LATER);
      try {
        (await server())(req, socket, head);
      } catch (error) {
        services.log.error({ err: error }, NOT_OPENED);
        socket.end(LATER);
      }
    },
  };
}

/** WebSockets of one company, and operations on them, at a time. */
const MOST_SOCKETS = 100;
const MOST_COMPANY_OPERATIONS = 1000;
const MOST_OPERATIONS = 50;

const placesFor = ({ LIMIT_CONNECTIONS: capacity }: HttpServices['config']) =>
  new SharedPlaces({ capacity, reserve: Math.floor(capacity / 4) });

const atMost = (count: number, what: string) =>
  new RateLimited(1, `At most ${count.toLocaleString('en')} ${what} at a time. Try again when one has ended.`);

async function openServer(services: HttpServices) {
  const { handleProtocols, makeServer } = await import('graphql-ws');
  const { WebSocketServer } = await import('ws');
  const server = makeServer(rules(services));
  const { LIMIT_JSON_BYTES: maxPayload } = services.config;
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload, handleProtocols });
  return (req: IncomingMessage, socket: Duplex, head: Buffer): void =>
    sockets.handleUpgrade(req, socket, head, (webSocket: WebSocket) => {
      const peer = new WebSocketPeer(webSocket, services.ending);
      const closed = server.opened(peer, peer);
      webSocket.once('close', (code, reason) => void closed(code, String(reason)));
    });
}

function rules(services: HttpServices): ServerOptions<Record<string, unknown>, WebSocketPeer> {
  const operate = operations(services);
  const places = placesFor(services.config);
  return {
    async onConnect({ connectionParams, extra: peer }) {
      try {
        const { Authorization, authorization } = connectionParams ?? {};
        const token = [Authorization, authorization].find((one) => typeof one === 'string');
        const caller = await services.authenticator.authenticate(token);
        if (!caller) throw new Unauthenticated(NO_TOKEN, null);
        const { company } = caller;
        services.fence?.check(company);
        await countRequest(services, payerOf(caller), NO_HEAD);
        const giveBack = places.take(company, MOST_SOCKETS);
        if (!giveBack) throw atMost(MOST_SOCKETS, 'WebSockets of a company');
        addAbortListener(peer.over, giveBack);
        peer.begin((sent, completed) => operate(sent, completed, caller, peer), caller.expiresAt);
        const leave = () => refuse(peer, services.fence?.refusal(company) ?? new Unavailable('This company moves.'));
        services.fence?.leaving(company).addEventListener('abort', leave, { signal: peer.over });
        return true;
      } catch (error) {
        if (error instanceof Unavailable) services.log.warn({ err: error.cause }, error.message);
        if (error instanceof DomainError) refuse(peer, error);
        else {
          services.log.error({ err: error }, NOT_OPENED);
          peer.close(FAULT, 'Internal error');
        }
        return false;
      }
    },
    onSubscribe({ extra: peer, subscriptions }, id, payload) {
      const results = peer.operate(id, payload);
      // graphql-ws ends what is here when the client completes the operation, also before its first result.
      subscriptions[id] = results;
      return { schema: graphqlSchema, document: NOTHING, rootValue: results };
    },
    execute: ({ rootValue }: ExecutionArgs) => rootValue as Results,
    onNext: (_context, _id, _payload, _args, result) => resultWithoutHttp(result as ExecutionResult),
    onError: (_context, _id, _payload, [error]) => (error?.originalError as AggregateError | undefined)?.errors,
  };
}

/** Of a company elsewhere, the reason is the address alone, for programs. */
const refuse = (peer: WebSocketPeer, error: DomainError): void =>
  peer.close(
    closeCodes[error.code] ?? TRY_AGAIN_LATER,
    error instanceof CompanyElsewhere ? error.details.address : error.message,
  );

/** Runs operations; each is counted and logged like a request. */
function operations(services: HttpServices) {
  const places = placesFor(services.config);

  /** Counts an operation until its end; throws RateLimited for one too many. */
  function admit(peer: WebSocketPeer, company: string, closed: AbortSignal): void {
    if (peer.operations >= MOST_OPERATIONS) throw atMost(MOST_OPERATIONS, 'operations on a WebSocket');
    const giveBack = places.take(company, MOST_COMPANY_OPERATIONS);
    if (!giveBack) throw atMost(MOST_COMPANY_OPERATIONS, 'operations of a company on its WebSockets');
    peer.operations += 1;
    addAbortListener(closed, () => {
      peer.operations -= 1;
      giveBack();
    });
  }

  return async (sent: unknown, completed: AbortSignal, caller: Caller, peer: WebSocketPeer) => {
    const began = performance.now();
    const ended = new AbortController();
    const closed = AbortSignal.any([peer.over, completed, ended.signal]);
    const ctx = contextOf(services, randomUUID(), caller, () => closed);
    const { requestId } = ctx;
    const res = { ...NO_HEAD, locals: { requestId } };
    const payer = payerOf(caller);
    const request: OperationRequest = {
      ...{ services, ctx, res, payer, idempotencyKey: undefined, mayChange: true },
      closed: () => closed,
      onEnd: () => ended.abort(ENDED),
    };
    const outcome = await admitted().catch((error: Error) => errorResult(error, request));
    // A stream that is completed before its first result does not end by itself.
    if (isResultStream(outcome)) addAbortListener(completed, () => ended.abort(ENDED));
    else ended.abort(ENDED);
    const { operation, code } = localsOf(res);
    const ms = Math.round((performance.now() - began) * 10) / 10;
    services.log.info({ requestId, company: caller.company, operation, code, ms }, 'operation');
    services.changes.emit('outcome', 'operation', code ?? 'OK', 1);
    return outcome;

    async function admitted(): Promise<OperationResult> {
      // What a client has completed counts until it has ended.
      admit(peer, caller.company, AbortSignal.any([peer.over, ended.signal]));
      await countRequest(services, payer, res);
      return runOperation(sent, request);
    }
  };
}

const NO_HEAD = { setHeader: () => NO_HEAD as never };
