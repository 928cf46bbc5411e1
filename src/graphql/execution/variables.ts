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
import { type InputError, MOST_INPUT_ERRORS, PayloadTooLarge, ValidationFailed } from '../../core/errors.ts';
import { readArguments } from '../../core/sql/answer.ts';
import type { Read } from '../../core/sql/json-parts.ts';
import type { ListField, OneField } from '../../core/sql/resource.ts';
import { bounds, outOfBounds } from './guards.ts';
import type { Variables } from './selected.ts';

type GraphqlField = GraphQLField<unknown, unknown>;

interface Options {
  /** Items that one list may have. */
  longest: number;
  /** Whether a wrong name is told of those that come close. */
  hints: boolean;
}

/** Members of an object: more than any input has fields, or any operation variables. */
const MOST_MEMBERS = 100;

/** Reads the values of an operation's variables. */
export type ReadVariables = (given: Variables, options: Options) => Variables;

/**
 * What reads the values of an operation's variables, with their defaults. It throws GraphQLError: PayloadTooLarge for what is
 * too long to be looked at, and ValidationFailed with all that is wrong.
 */
export function variablesOf(schema: GraphQLSchema, operation: OperationDefinitionNode): ReadVariables {
  const definitions = operation.variableDefinitions ?? [];
  return (given, { longest, hints }) => {
    bounded(given, longest, 0);
    const { coerced, errors } = getVariableValues(schema, definitions, given, {
      maxErrors: MOST_INPUT_ERRORS,
      hideSuggestions: !hints,
    });
    if (coerced) return coerced;
    throw rejection(errors);
  };
}

/** Reading a value costs many times what sending it does, so its size is looked at first. */
function bounded(value: unknown, longest: number, level: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (level > bounds['levels of values']) throw outOfBounds('levels of values', bounds['levels of values']);
  if (Array.isArray(value)) {
    if (value.length > longest) throw tooLarge(`${longest} items in one list; this one has ${value.length}`);
    for (const item of value) bounded(item, longest, level + 1);
    return;
  }
  let members = 0;
  for (const name in value) {
    members += 1;
    if (members > MOST_MEMBERS) throw tooLarge(`${MOST_MEMBERS} members in one object of the variables`);
    bounded((value as Variables)[name], longest, level + 1);
  }
}

function tooLarge(what: string): GraphQLError {
  const domainError = new PayloadTooLarge(`At most ${what}.`);
  return new GraphQLError(domainError.message, { originalError: domainError });
}

/** All wrong values as one error, as for a REST body. */
function rejection(errors: readonly GraphQLError[]): GraphQLError {
  // Beyond so many, the last error says only that there are more.
  const domainError = new ValidationFailed(errors.map(inputErrorOf));
  // Errors of GraphQL itself have status 200 for clients that accept only `application/json`.
  return new GraphQLError(domainError.message, {
    nodes: errors[0]?.nodes,
    originalError: domainError,
    extensions: { http: { status: 400, spec: true } },
  });
}

/**
 * The error in a message such as `Variable "$input" got invalid value 5 at "input.vins[3]"; String cannot represent …`.
 * The value is left out: it may be long. Paths are as core has them: `vins.3`.
 */
function inputErrorOf({ message, nodes }: GraphQLError): InputError {
  const text = message.slice(message.lastIndexOf('; ') + 1).trim();
  const [, place = ''] = / at "([\w.[\]]+)"; [^;]*$/.exec(message) ?? [];
  const missing = /^Field "(\w+)" of required type/.exec(text)?.[1];
  const name = nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION ? nodes[0].variable.name.value : '';
  const inside = place
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .slice(1);
  const path = [...inside, ...(missing ? [missing] : [])].join('.') || name;
  const code = / does not exist in "\w+" enum/.test(text) ? 'INVALID_VALUE' : 'INVALID_TYPE';
  return { path, code, message: missing ? 'is required' : text };
}

/** Reads the arguments of a field, or returns their error. */
export type ReadArguments = (variables: Variables) => Read | Error;

/** Makes the reader of a field's arguments; arguments without variables are read once. */
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

/** The result of graphql-js' getArgumentValues, without calling it where each value is a valid variable. */
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

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(hasVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => hasVariable(field.value));
  return value.kind === Kind.VARIABLE;
}
