import { createHash } from 'node:crypto';
import { type ExecutionResult, Kind, type OperationDefinitionNode, OperationTypeNode } from 'graphql';
import { ValidationFailed } from '../core/errors.ts';
import { once } from '../core/idempotency.ts';
import type { FaceContext } from './context.ts';

/** What was asked, to tell a repetition from another request with the same key. */
interface Asked {
  query?: string | undefined;
  variables?: unknown;
  operationName?: string | null | undefined;
}

/** A result with errors: what its transaction did is undone, and it is not remembered. */
class Refused extends Error {
  readonly result: ExecutionResult;
  constructor(result: ExecutionResult) {
    super('refused');
    this.result = result;
  }
}

/**
 * Executes a mutation once for its Idempotency-Key; a repetition gets the first result. Throws ValidationFailed for an
 * operation of several fields, of which one could be refused while another is done, and what core's `once` throws.
 */
export async function executeOnce(
  { ctx, idempotencyKey }: FaceContext,
  operation: OperationDefinitionNode,
  asked: Asked,
  work: () => ExecutionResult | Promise<ExecutionResult>,
): Promise<ExecutionResult> {
  if (idempotencyKey === undefined || operation.operation !== OperationTypeNode.MUTATION) return work();
  const [field, ...others] = operation.selectionSet.selections;
  if (field?.kind !== Kind.FIELD || others.length > 0) {
    throw new ValidationFailed([], 'With an Idempotency-Key a mutation has exactly one field.');
  }
  // An upload is remembered by its import: its transaction must not stay open while the file arrives.
  if (field.name.value === 'importVehicles') return work();
  const { query, variables, operationName } = asked;
  const request = createHash('sha256')
    .update(JSON.stringify([query, variables ?? {}, operationName ?? null]))
    .digest('hex');
  try {
    const { body } = await once(ctx, idempotencyKey, request, async () => {
      const result = await work();
      if (result.errors?.length) throw new Refused(result);
      return { status: 200, headers: {}, body: JSON.stringify(result) };
    });
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof Refused) return error.result;
    throw error;
  }
}
