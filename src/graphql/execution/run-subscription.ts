import { createSourceEventStream, type ExecutionArgs, type ExecutionResult, execute, Kind, visit } from 'graphql';
import { requireCaller } from '../../core/context.ts';
import type { GraphqlContext } from '../schema/graphql-context.ts';
import type { PreparedOperation } from './prepare-document.ts';

/** A result as JSON, or as an object if it has errors, which each client is told with the id of its own request. */
export type EventAnswer = string | ExecutionResult;

class FailedExecution extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('The execution has errors.');
    this.result = result;
  }
}

/**
 * Subscribes, and executes the operation for each event: once for all followers that ask alike with the same scopes. `open` makes the
 * context of an execution that several clients wait for.
 */
export async function runSubscription(
  operation: PreparedOperation,
  args: ExecutionArgs & { contextValue: GraphqlContext },
  open: () => GraphqlContext,
): Promise<ExecutionResult | AsyncGenerator<EventAnswer, void>> {
  const source = await createSourceEventStream(args);
  if (!(Symbol.asyncIterator in source)) return source;
  const { ctx, services } = args.contextValue;
  const scopes = requireCaller(ctx).scopes;
  const variables = variablesOfEvents(operation).map((name) => args.variableValues?.[name] ?? null);
  const variant = JSON.stringify([operation.id, variables, scopes && [...scopes].toSorted()]);

  const textOf = async (event: object): Promise<string> => {
    const result = await execute({ ...args, rootValue: event, contextValue: open() });
    if (result.errors) throw new FailedExecution(result);
    return JSON.stringify(result);
  };

  async function* answersTo(events: AsyncIterable<unknown>): AsyncGenerator<EventAnswer, void> {
    for await (const event of events as AsyncIterable<object>) {
      yield await services.followers
        .textOf<EventAnswer & string>(event, variant, () => textOf(event))
        .catch((error): EventAnswer => {
          if (error instanceof FailedExecution) return error.result;
          throw error;
        });
    }
  }
  return answersTo(source);
}

/** The variables that an event's answer depends on. Arguments of the root field choose the events. */
function variablesOfEvents({ node, document }: PreparedOperation): string[] {
  const names = new Set<string>();
  const below = node.selectionSet.selections.map((one) => (one.kind === Kind.FIELD ? { ...one, arguments: [] } : one));
  const fragments = document.tree.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  for (const one of [...below, ...fragments]) visit(one, { Variable: ({ name }) => void names.add(name.value) });
  return [...names];
}
