import { GraphQLError, getVariableValues, Kind, type OperationDefinitionNode } from 'graphql';
import { type InputError, MOST_INPUT_ERRORS, PayloadTooLarge, ValidationFailed } from '../../core/errors.ts';
import { schema } from '../schema/schema.ts';
import { bounds, outOfBounds } from './guards.ts';

type Values = Readonly<Record<string, unknown>>;

interface Options {
  /** Items that one list may have. */
  longest: number;
  /** Whether a wrong name is told of those that come close. */
  hints: boolean;
}

/** Members of an object: more than any input has fields, or any operation variables. */
const MOST_MEMBERS = 100;

/** Reads the values of an operation's variables. */
export type ReadVariables = (given: Values, options: Options) => Values;

/**
 * What reads the values of an operation's variables, with their defaults. It throws GraphQLError: PayloadTooLarge for what is
 * too long to be looked at, and ValidationFailed with all that is wrong.
 */
export function variablesOf(operation: OperationDefinitionNode): ReadVariables {
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
    bounded((value as Values)[name], longest, level + 1);
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
  // What GraphQL itself rejects is 200 for those who accept `application/json` alone.
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
