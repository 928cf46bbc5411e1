import type { Request, Response } from 'express';
import { type ExecutionResult, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { ValidationFailed } from '../../core/errors.ts';
import { loadedOnce } from '../../http/assets.ts';
import { isResultStream, type OperationResult, type ResultStream } from '../execution/run-operation.ts';
import type { EventAnswer } from '../execution/run-subscription.ts';

/** Clients that take any get the first. */
export const JSON_TYPES = ['application/json', 'application/graphql-response+json'] as const;
/** The media types of a single result. */
export const RESULT_TYPES = [...JSON_TYPES, 'text/event-stream'] as const;
export const ANSWER_TYPES = [...RESULT_TYPES, 'multipart/mixed'] as const;

type Answered = { outcome: OperationResult };

/** Writes outcomes of operations by Yoga, as SSE and multipart answers. */
export function yogaHandler() {
  const load = loadedOnce(openYoga);
  return async (req: Request, res: Response, outcome: OperationResult): Promise<void> => {
    requireUrl(req);
    await (await load())(req, res, { outcome });
  };
}

/** Throws ValidationFailed for an invalid URL, which Yoga would answer with its stack. */
export function requireUrl({ protocol, headers, originalUrl }: Request): void {
  if (URL.canParse(`${protocol}://${headers.host || 'localhost'}${originalUrl}`)) return;
  throw new ValidationFailed([], 'The Host header and the address must make a URL.');
}

async function openYoga() {
  // Loaded at first use: it is a fifth of all modules, and few requests need it.
  const { createYoga } = await import('graphql-yoga');
  return createYoga<Answered>({
    graphqlEndpoint: '/graphql',
    plugins: [writing],
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

/** A result for Yoga, which asks it for its text. */
const resultOf = (answer: EventAnswer): ExecutionResult =>
  typeof answer === 'string' ? ({ stringify: () => answer } as ExecutionResult) : answer;

async function* resultsOf(stream: ResultStream): AsyncGenerator<ExecutionResult, void> {
  for await (const answer of stream) yield resultOf(answer);
}

/** Gives Yoga the outcome in place of its own steps, which a subscription passes to be written as events. */
const writing: Plugin<Answered, Answered> = {
  onRequestParse: ({ setRequestParser }) => setRequestParser(() => ({ query: '' })),
  onParams({ setParamsHandler, context: { outcome } }) {
    if (!isResultStream(outcome)) setParamsHandler(() => resultOf(outcome));
  },
  onParse: ({ setParsedDocument }) => setParsedDocument(NOTHING),
  onValidate: ({ setResult }) => setResult([]),
  onSubscribe: ({ args, setSubscribeFn }) => setSubscribeFn(() => resultsOf(args.contextValue.outcome as ResultStream)),
  // Yoga's 406 would name some forms of answers twice.
  onResponse({ response }) {
    if (response.status === 406) response.headers.set('Accept', ANSWER_TYPES.join(', '));
  },
};
