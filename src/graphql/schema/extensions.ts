import type { GraphQLField, GraphQLSchema, OperationTypeNode } from 'graphql';
import { requireScope, type Scope } from '../../core/context.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { GraphqlContext, Resolver } from './context.ts';

/** The cost of a field, in its `extensions`. */
export type CostExtension = {
  /** The most items of its list; `page`: of its connection's page; `input`: of lists in the root field's arguments. */
  size?: number | ((given: Readonly<Record<string, unknown>>) => number) | 'page' | 'input';
  /** The cost of one object; by default 1. */
  weight?: number;
};

/** Extensions of a root field: its scope, if it is another than most have (null where core checks it), and its own errors. */
export type OperationExtension = { scope?: Scope | null; errors?: readonly ErrorCode[] };

const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

export function scopeOfField(field: GraphQLField<unknown, unknown>, operation: OperationTypeNode): Scope | null {
  const { scope = usualScopes[operation] } = field.extensions as OperationExtension;
  return scope;
}

/** Checks scopes before arguments, as REST does, and adds scopes and errors to descriptions. */
export function withScopeChecks(schema: GraphQLSchema): GraphQLSchema {
  for (const operation of Object.keys(usualScopes) as OperationTypeNode[]) {
    for (const field of Object.values(schema.getRootType(operation)?.getFields() ?? {})) {
      const scope = scopeOfField(field, operation);
      const { errors = [] } = field.extensions as OperationExtension;
      if (scope) field.description += ` Scope: \`${scope}\`.`;
      if (errors.length > 0) field.description += ` Errors: ${errors.map((code) => `\`${code}\``).join(', ')}.`;
      if (scope === null) continue;
      const first = field.subscribe ? 'subscribe' : 'resolve';
      const resolve = field[first] as Resolver;
      field[first] = (source, args, context: GraphqlContext, info) => {
        requireScope(context.ctx, scope);
        return resolve(source, args, context, info);
      };
    }
  }
  return schema;
}
