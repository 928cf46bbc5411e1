import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  GraphQLString,
  getNullableType,
  getVariableValues,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';
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
  const plain = definitions.map(plainVariable);
  return (given, { longest, hints }) => {
    bounded(given, longest, 0);
    const values = plainValues(plain, given);
    if (values) return values;
    const { coerced, errors } = getVariableValues(schema, definitions, given, {
      maxErrors: MOST_INPUT_ERRORS,
      hideSuggestions: !hints,
    });
    if (coerced) return coerced;
    if (errors.length <= MOST_INPUT_ERRORS) throw rejection(errors, 0);
    // The last one says no more than that there are others.
    throw rejection(errors.slice(0, MOST_INPUT_ERRORS), countErrors(operation, given) - MOST_INPUT_ERRORS);
  };
}

/** A variable whose values are mostly taken as they are. */
interface PlainVariable {
  name: string;
  isRequired: boolean;
  isPlain: (value: unknown) => boolean;
}

const INT_MOST = 2 ** 31 - 1;
/** Values that are read as they are given, by their types; there are others that can be read. */
const plainTypes = new Map<unknown, PlainVariable['isPlain']>([
  [GraphQLID, (value) => typeof value === 'string'],
  [GraphQLString, (value) => typeof value === 'string'],
  [GraphQLBoolean, (value) => typeof value === 'boolean'],
  [GraphQLInt, (value) => Number.isInteger(value) && Math.abs(value as number) <= INT_MOST],
]);

function plainVariable({ variable, type: node, defaultValue }: VariableDefinitionNode): PlainVariable {
  const type = typeFromAST(schema, node as NamedTypeNode);
  const isPlain = plainTypes.get(getNullableType(type)) ?? (() => false);
  return { name: variable.name.value, isRequired: isNonNullType(type) || defaultValue !== undefined, isPlain };
}

/** What graphql-js would read, where nothing is to be done for it; null where it is to be asked. */
function plainValues(variables: readonly PlainVariable[], given: Values): Values | null {
  // A variable may be called `__proto__`.
  const values: Record<string, unknown> = Object.create(null);
  for (const { name, isRequired, isPlain } of variables) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined && !isRequired) continue;
    if (!isPlain(value)) return null;
    values[name] = value;
  }
  return values;
}

/** How much is wrong in all, told without making an error of each: that would take a hundred times as long. */
function countErrors({ variableDefinitions = [] }: OperationDefinitionNode, given: Values): number {
  return sum(
    variableDefinitions.map(({ variable, type, defaultValue }) => {
      const value = given[variable.name.value];
      return value === undefined && defaultValue ? 0 : errorsIn(value, typeFromAST(schema, type as NamedTypeNode));
    }),
  );
}

function errorsIn(value: unknown, type: unknown): number {
  if (isNonNullType(type)) return value == null ? 1 : errorsIn(value, type.ofType);
  if (value == null) return 0;
  if (isListType(type))
    return Array.isArray(value) ? sum(value.map((one) => errorsIn(one, type.ofType))) : errorsIn(value, type.ofType);
  if (!isInputObjectType(type)) return isLeafType(type) && !isRead(value, type) ? 1 : 0;
  if (typeof value !== 'object') return 1;
  const fields = type.getFields();
  const unknown = Object.keys(value).filter((name) => !(name in fields)).length;
  const known = Object.values(fields).filter(({ name, defaultValue }) => name in value || defaultValue === undefined);
  return unknown + sum(known.map(({ name, type: of }) => errorsIn((value as Values)[name], of)));
}

function isRead(value: unknown, type: GraphQLLeafType): boolean {
  // Nearly all lists are of these, and even an error that nobody looks at takes its time.
  if (type === GraphQLString) return typeof value === 'string';
  if (type === GraphQLID) return typeof value === 'string' || Number.isInteger(value);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return type.parseValue(value) !== undefined;
  } catch {
    return false;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

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
function rejection(errors: readonly GraphQLError[], omitted: number): GraphQLError {
  const domainError = new ValidationFailed(errors.map(inputErrorOf), '', {}, omitted);
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
