import { type FieldNode, type GraphQLField, getArgumentValues, Kind, type ValueNode } from 'graphql';
import { type Read, readArguments } from '../../core/sql/answer.ts';
import type { ListField, OneField } from '../../core/sql/resource.ts';
import type { Variables } from './selected.ts';

/** What reads the arguments of a field; gives what is wrong with them, too. */
export type ReadArguments = (variables: Variables) => Read | Error;

/** What reads the arguments of a field of a document: once for all, where no variable is among them. */
export function argumentsOf(
  field: OneField | ListField,
  own: GraphQLField<unknown, unknown>,
  node: FieldNode,
): ReadArguments {
  const read: ReadArguments = (variables) => {
    try {
      return readArguments(field, getArgumentValues(own, node, variables));
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

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(hasVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => hasVariable(field.value));
  return value.kind === Kind.VARIABLE;
}
