import { createHash } from 'node:crypto';
import { type ExecutionResult, type FieldNode, GraphQLError, Kind, type OperationDefinitionNode } from 'graphql';
import { hasScope } from '../../core/context.ts';
import { DomainError, ValidationFailed } from '../../core/errors.ts';
import { once } from '../../core/idempotency.ts';
import { REPLAYED } from '../../http/body.ts';
import { schema } from '../schema/schema.ts';
import { type GraphqlContext, type MaybePromise, scopeOf } from './context.ts';
import { nameInAnswer } from './guards.ts';

/** A result with errors: what its transaction did is undone. The mutation's own error is the cause, if it is all. */
class Unanswered extends Error {
  readonly result: ExecutionResult;
  constructor(result: ExecutionResult) {
    const [error, ...others] = result.errors ?? [];
    const own = others.length === 0 && error?.path?.length === 1;
    super('unanswered', { cause: own ? error.originalError : undefined });
    this.result = result;
  }
}

/**
 * Executes a mutation once for its Idempotency-Key; a repetition gets the first result, or the error that was its result.
 * Throws ValidationFailed for an operation of several fields, of which one could be rejected while another is done, and
 * what core's `once` throws.
 */
export async function executeOnce(
  { ctx, idempotencyKey, res }: GraphqlContext,
  operation: OperationDefinitionNode,
  { query, variables, operationName }: { query: string; variables?: unknown; operationName?: unknown },
  work: () => MaybePromise<ExecutionResult>,
): Promise<ExecutionResult> {
  if (idempotencyKey === undefined) return work();
  const [field, ...others] = operation.selectionSet.selections;
  if (field?.kind !== Kind.FIELD || others.length > 0) {
    throw new ValidationFailed([], 'With an Idempotency-Key a mutation has exactly one field.');
  }
  // An upload is remembered by its import: its transaction must not stay open while the file arrives.
  if (field.name.value === 'importVehicles') return work();
  const mutation = schema.getMutationType()?.getFields()[field.name.value];
  const scope = mutation && scopeOf(mutation, operation.operation);
  // Without the scope the resolver rejects the request; the stored answer is not read.
  if (!scope || !hasScope(ctx, scope)) return work();
  const request = createHash('sha256')
    .update(JSON.stringify([query, variables ?? {}, operationName ?? null]))
    .digest('hex');
  try {
    const { outcome, repeated } = await once(ctx, idempotencyKey, request, async () => {
      const result = await work();
      if (result.errors?.length) throw new Unanswered(result);
      return { status: 200, headers: {}, body: JSON.stringify(result) };
    });
    if (repeated) res.setHeader(REPLAYED, 'true');
    return outcome instanceof DomainError ? rejected(field, outcome) : JSON.parse(outcome.body);
  } catch (error) {
    if (error instanceof Unanswered) return error.result;
    throw error;
  }
}

/** The result of a mutation that was rejected. */
const rejected = (field: FieldNode, domainError: DomainError): ExecutionResult => {
  const key = nameInAnswer(field);
  return {
    data: { [key]: null },
    errors: [new GraphQLError(domainError.message, { nodes: field, path: [key], originalError: domainError })],
  };
};
