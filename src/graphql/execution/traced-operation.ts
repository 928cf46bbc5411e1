import { traced } from '../../telemetry/telemetry.ts';
import type { PreparedOperation } from './prepared-operation.ts';

/** The name of an operation is the client's invention. */
const LONGEST_NAME = 100;

/** Executes an operation that `guard` has let pass, as a step named by what it asks for. */
export function traceOperation<T>(
  { node: { operation: type, name }, label }: PreparedOperation,
  work: () => T | Promise<T>,
): T | Promise<T> {
  return traced(() => {
    const common = { 'graphql.operation.type': type, 'fleet_gateway.operation': label };
    return {
      name: label,
      attributes: { ...common, ...(name && { 'graphql.operation.name': name.value.slice(0, LONGEST_NAME) }) },
      measured: {
        metric: 'fleet_gateway.graphql.operation.duration',
        labels: { ...common, 'fleet_gateway.anonymous': !name },
      },
    };
  }, work);
}
