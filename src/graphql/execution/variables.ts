import {
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
} from 'graphql';
import type { Context } from '../../core/context.ts';
import { type InputError, MOST_INPUT_ERRORS, PayloadTooLarge, ValidationFailed } from '../../core/errors.ts';
import { readFieldArguments } from '../../core/sql/answer.ts';
import type { FieldArguments, ReadField } from '../../core/sql/resource.ts';
import { documentBounds, outOfBoundsError } from './guards.ts';
import type { GraphqlVariables } from './selected.ts';

/** Members of an object: more than any input has. */
const MOST_MEMBERS = 100;

/** Reads an operation's variables, with defaults. Throws PayloadTooLarge, and GraphQLError with all errors. */
export function readVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: GraphqlVariables,
  { LIMIT_VINS, INTROSPECTION }: Context['services']['config'],
): GraphqlVariables {
  bounded(given, LIMIT_VINS, 0);
  const { coerced, errors } = getVariableValues(schema, variableDefinitions, given, {
    maxErrors: MOST_INPUT_ERRORS,
    hideSuggestions: !INTROSPECTION,
  });
  if (coerced) return coerced;
  throw rejection(errors);
}

/** Checks sizes first: reading a value costs many times as much as sending it. */
function bounded(value: unknown, longest: number, level: number): void {
  if (typeof value !== 'object' || value === null) return;
  const levels = documentBounds['levels of values'];
  if (level > levels) throw outOfBoundsError('levels of values', levels);
  const isList = Array.isArray(value);
  if (isList && value.length > longest) {
    throw new PayloadTooLarge(
      `At most ${longest} items in one list; this one has ${value.length}. Send several lists.`,
    );
  }
  const members = Object.values(value);
  if (!isList && members.length > MOST_MEMBERS) {
    throw new PayloadTooLarge(
      `At most ${MOST_MEMBERS} members in one object of the variables; this one has ${members.length}.`,
    );
  }
  for (const member of members) bounded(member, longest, level + 1);
}

function rejection(errors: readonly GraphQLError[]): GraphQLError {
  const domainError = new ValidationFailed(errors.map(inputErrorOf));
  // Errors of GraphQL itself have status 200 for clients that accept only `application/json`.
  return new GraphQLError(domainError.message, {
    nodes: errors[0]?.nodes,
    originalError: domainError,
    extensions: { http: { status: 400, spec: true } },
  });
}

/** Reads a message such as `Variable "$input" got invalid value 5 at "input.vins[3]"; String cannot represent …`. */
function inputErrorOf({ message, nodes }: GraphQLError): InputError {
  const text = message.slice(message.lastIndexOf('; ') + 1).trim();
  const [, place = ''] = / at "([\w.[\]]+)"; [^;]*$/.exec(message) ?? [];
  const missing = /^Field "(\w+)" of required type/.exec(text)?.[1];
  const name = nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION ? nodes[0].variable.name.value : '';
  const [, ...inside] = place.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const path = [...inside, ...(missing ? [missing] : [])].join('.') || name;
  const code = / does not exist in "\w+" enum/.test(text) ? 'INVALID_VALUE' : 'INVALID_TYPE';
  return { path, code, message: missing ? 'is required' : text };
}

export type ArgumentReader = (variables: GraphqlVariables) => FieldArguments;

/** Makes the reader of a field's arguments; arguments without variables are read once. */
export function argumentReaderOf(field: ReadField, own: GraphQLField<unknown, unknown>, node: FieldNode) {
  const read: ArgumentReader = (variables) => readFieldArguments(field, getArgumentValues(own, node, variables));
  if (node.arguments?.some(({ value }) => hasVariable(value))) return read;
  let known: FieldArguments | undefined;
  return (variables: GraphqlVariables) => {
    known ??= read(variables);
    return known;
  };
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(hasVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => hasVariable(field.value));
  return value.kind === Kind.VARIABLE;
}
