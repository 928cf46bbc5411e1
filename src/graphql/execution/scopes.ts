import type { GraphQLField, GraphQLSchema, OperationTypeNode } from 'graphql';
import { needScope, type Scope } from '../../core/context.ts';
import type { GraphqlContext } from './context.ts';

/** Extensions of a field of a root type that needs another scope than most. */
export interface Needs {
  /** null: core sees to it, since not all that is found needs the same one. */
  scope: Scope | null;
}

/** What fields of the root types need unless they say otherwise. */
const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

type RootField = GraphQLField<unknown, GraphqlContext>;
const scopeOf = ({ extensions }: RootField, usual: Scope): Scope | null => {
  const { scope = usual } = extensions as Partial<Needs>;
  return scope;
};

/** The scope that a mutation needs, whatever its input; undefined for what is no field of the schema. */
export const scopeOfMutation = (schema: GraphQLSchema, name: string): Scope | null | undefined => {
  const field = schema.getMutationType()?.getFields()[name];
  return field && scopeOf(field, usualScopes.mutation);
};

/** Looks at scopes before arguments are judged: as in REST, whoever may not ask is told nothing else. */
export function scopesFirst(schema: GraphQLSchema): GraphQLSchema {
  for (const [operation, usual] of Object.entries(usualScopes)) {
    for (const field of Object.values(schema.getRootType(operation as OperationTypeNode)?.getFields() ?? {})) {
      const scope = scopeOf(field, usual);
      if (scope === null) continue;
      const { resolve, subscribe } = field;
      // The first of the two that is called.
      if (subscribe) field.subscribe = needing(scope, subscribe);
      else if (resolve) field.resolve = needing(scope, resolve);
    }
  }
  return schema;
}

const needing =
  <Args extends [unknown, unknown, GraphqlContext, ...unknown[]], Result>(
    scope: Scope,
    resolve: (...args: Args) => Result,
  ) =>
  (...args: Args): Result => {
    needScope(args[2].ctx, scope);
    return resolve(...args);
  };
