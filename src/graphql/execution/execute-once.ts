import { hash } from 'node:crypto';
import { type ExecutionResult, GraphQLError, Kind, type OperationDefinitionNode } from 'graphql';
import { digestOfValues, runOncePerKey } from '../../core/companies/idempotency.ts';
import { hasScope } from '../../core/context.ts';
import { DomainError, ValidationFailed } from '../../core/errors.ts';
import { REPLAYED } from '../../http/body.ts';
import { type GraphqlContext, type MaybePromise, scopeOfField } from '../schema/graphql-context.ts';
import { graphqlSchema } from '../schema/schema.ts';
import { responseName } from './guards.ts';

/** Rolls back the transaction of a result with errors. The cause is the mutation's own error, if there is no other. */
class FailedResult extends Error {
  readonly result: ExecutionResult;
  constructor(result: ExecutionResult) {
    const [error, ...others] = result.errors ?? [];
    const own = others.length === 0 && error?.path?.length === 1;
    super('unanswered', { cause: own ? error.originalError : undefined });
    this.result = result;
  }
}

/** Executes a mutation once for its Idempotency-Key; a repetition gets the first result or error. */
export async function executeOnce(
  { ctx, idempotencyKey, res }: GraphqlContext,
  operation: OperationDefinitionNode,
  { query, variables, operationName }: { query: string; variables?: unknown; operationName?: unknown },
  work: () => MaybePromise<ExecutionResult>,
): Promise<ExecutionResult> {
  if (idempotencyKey === undefined) return work();
  const [field, ...others] = operation.selectionSet.selections;
  // One of several fields could fail after another.
  if (field?.kind !== Kind.FIELD || others.length > 0) {
    throw new ValidationFailed(
      [],
      'With an Idempotency-Key, a mutation must have exactly one field. Send several requests, each with its own key.',
    );
  }
  // Uploads are remembered by their import: no transaction stays open while a file arrives.
  if (field.name.value === 'importVehicles') return work();
  const mutation = graphqlSchema.getMutationType()?.getFields()[field.name.value];
  const scope = mutation && scopeOfField(mutation, operation.operation);
  // Without the scope the resolver rejects the request.
  if (!scope || !hasScope(ctx, scope)) return work();
  const values = [query, variables ?? {}, operationName ?? null];
  const digest = { request: digestOfValues(...values), former: hash('sha256', JSON.stringify(values)) };
  try {
    const { outcome, repeated } = await runOncePerKey(ctx, idempotencyKey, digest, async () => {
      const result = await work();
      if (result.errors?.length) throw new FailedResult(result);
      return { status: 200, headers: {}, body: JSON.stringify(result) };
    });
    if (repeated) res.setHeader(REPLAYED, 'true');
    if (!(outcome instanceof DomainError)) return JSON.parse(outcome.body);
    const name = responseName(field);
    const error = new GraphQLError(outcome.message, { nodes: field, path: [name], originalError: outcome });
    return { data: { [name]: null }, errors: [error] };
  } catch (error) {
    if (error instanceof FailedResult) return error.result;
    throw error;
  }
}
