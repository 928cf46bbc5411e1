import { type FieldNode, type GraphQLField, getArgumentValues, Kind, type ValueNode } from 'graphql';
import { type Read, readArguments } from '../../core/sql/answer.ts';
import type { ListField, OneField } from '../../core/sql/resource.ts';
import type { Variables } from './selected.ts';

/** What reads the arguments of a field; gives what is wrong with them, too. */
export type ReadArguments = (variables: Variables) => Read | Error;

/** What reads the arguments of a field of a document: once for all, where no variable is among them. */
export function argumentsOf(field: OneField | ListField, own: GraphqlField, node: FieldNode): ReadArguments {
  const values = valuesOf(own, node);
  const read: ReadArguments = (variables) => {
    try {
      return readArguments(field, values(variables));
    } catch (error) {
      return error as Error;
    }
  };
  if (node.arguments?.some(({ value }) => hasVariable(value))) return read;
  let known: Read | Error | undefined;
  return (variables) => {
    // Errors are made anew, each with its own stack.
    if (!known || known instanceof Error) known = read(variables);
    return known;
  };
}

/** What graphql-js' getArgumentValues gives; it is asked where a value is more than a variable, or might be wrong. */
function valuesOf(own: GraphqlField, node: FieldNode): (variables: Variables) => Readonly<Record<string, unknown>> {
  const given = node.arguments ?? [];
  const byVariables = given.flatMap(({ name, value }) =>
    value.kind === Kind.VARIABLE ? [[name.value, value.name.value] as const] : [],
  );
  const hasMore = given.length > byVariables.length || own.args.some(({ defaultValue }) => defaultValue !== undefined);
  return (variables) => {
    // A variable may be called like a member of every object.
    const isGiven = ([, name]: readonly [string, string]) => Object.hasOwn(variables, name) && variables[name] !== null;
    if (hasMore || !byVariables.every(isGiven)) return getArgumentValues(own, node, variables);
    return Object.fromEntries(byVariables.map(([name, variable]) => [name, variables[variable]]));
  };
}

type GraphqlField = GraphQLField<unknown, unknown>;

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(hasVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => hasVariable(field.value));
  return value.kind === Kind.VARIABLE;
}
