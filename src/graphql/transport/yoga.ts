import type { Request, Response } from 'express';
import { type ExecutionResult, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { ValidationFailed } from '../../core/errors.ts';
import { loadedOnce } from '../../http/assets.ts';
import { publicResult } from '../execution/result-errors.ts';
import { isResultStream, type ResultStream, runOperation } from '../execution/run-operation.ts';
import { type GraphqlExchange, JSON_TYPES } from './plain-json.ts';

type YogaPlugin = Plugin<{ exchange: GraphqlExchange }, { exchange: GraphqlExchange }>;

/** Answers by Yoga, which writes SSE and multipart answers. */
export function yogaHandler() {
  const load = loadedOnce(openYoga);
  return async (req: Request, res: Response, exchange: GraphqlExchange): Promise<void> => {
    // Yoga would answer an invalid URL with its stack.
    if (!URL.canParse(`${req.protocol}://${req.headers.host || 'localhost'}${req.originalUrl}`)) {
      throw new ValidationFailed([], 'The Host header and the address must make a URL.');
    }
    // The body has been read, and Yoga would wait for it.
    if (req.method === 'POST') req.body = { query: '' };
    await (await load())(req, res, { exchange });
  };
}

async function openYoga() {
  // Loaded at first use: it is a fifth of all modules, and few requests need it.
  const { createYoga } = await import('graphql-yoga');
  return createYoga<{ exchange: GraphqlExchange }>({
    graphqlEndpoint: '/graphql',
    plugins: [running],
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    maskedErrors: false,
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
  });
}

/** Yoga parses this in place of a document that has been run. */
const NOTHING = parse('subscription { nothing }');

/** The media types of a single result. */
export const RESULT_TYPES = [...JSON_TYPES, 'text/event-stream'] as const;
export const ANSWER_TYPES = [...RESULT_TYPES, 'multipart/mixed'] as const;

/** `runOperation` gives the result in place of Yoga's own steps, which a subscription passes to be written as events. */
const running: YogaPlugin = {
  onParams({ params, setParams, paramsHandler, setParamsHandler, context: { exchange } }) {
    // Yoga demands a text, which a hash may replace.
    setParams({ ...params, query: params.query ?? '' });
    setParamsHandler(async (payload) => {
      const outcome = exchange.outcome ?? (await runOperation(exchange.sent, exchange.request));
      exchange.outcome = outcome;
      if (isResultStream(outcome)) return paramsHandler({ ...payload, params: { query: '' } });
      return typeof outcome === 'string' ? ({ stringify: () => outcome } as ExecutionResult) : outcome;
    });
  },
  onParse: ({ setParsedDocument }) => setParsedDocument(NOTHING),
  onValidate: ({ setResult }) => setResult([]),
  onSubscribe: ({ args, setSubscribeFn }) => setSubscribeFn(() => args.contextValue.exchange.outcome as ResultStream),
  // Errors that Yoga makes have our codes, and its 406 names each form of answer once.
  onResultProcess({ result, setResult, serverContext: { exchange } }) {
    if (exchange.outcome === undefined) setResult(publicResult(result as ExecutionResult, exchange.request));
  },
  onResponse({ response }) {
    if (response.status === 406) response.headers.set('Accept', ANSWER_TYPES.join(', '));
  },
};
