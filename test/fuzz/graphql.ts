import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { rootFields } from '../support/operation.ts';
import { nameOf } from '../support/worlds.ts';
import { type FuzzRequest, oddHeaders, who } from './request.ts';
import { anyJson, bytesOf, garbled, stringFor } from './values.ts';

const DEPTH = 3;

interface Selected {
  name: string;
  args: Record<string, { type: string; value: unknown; inline: boolean }>;
  below: Selected[] | null;
}

function fieldOf(field: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<Selected> {
  const args = Object.fromEntries(
    field.args.map(({ name, type }) => [
      name,
      fc.record({
        type: mostly(String(type), fc.constant('String'), 30),
        value: anyValue(name, type, field.name),
        inline: mostly(false, fc.constant(true)),
      }),
    ]),
  );
  const required = field.args.filter(({ type }) => isNonNullType(type)).map(({ name }) => name);
  return fc.record({
    name: fc.constant(field.name),
    args: fc.record(args, { requiredKeys: required }),
    below: belowOf(field.type, depth),
  });
}

function belowOf(type: GraphQLOutputType, depth: number): fc.Arbitrary<Selected[] | null> {
  const named = getNamedType(type);
  if (!isCompositeType(named)) return fc.constant(null);
  const typename: Selected = { name: '__typename', args: {}, below: null };
  if (depth === 0 || !isObjectType(named)) return fc.constant([typename]);
  const fields = Object.values(named.getFields());
  return fc
    .subarray(fields, { minLength: 1, maxLength: Math.min(4, fields.length) })
    .chain((some) => fc.tuple(...some.map((field) => fieldOf(field, depth - 1))));
}

/** A random value; `of` is the field whose argument has it. */
function anyValue(name: string, type: GraphQLInputType, of: string): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: rightValue(name, type, of) }, { weight: 1, arbitrary: anyJson });
}

function rightValue(name: string, type: GraphQLInputType, of: string): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) return rightValue(name, type.ofType, of);
  if (isListType(type)) return fc.array(anyValue(name, type.ofType, of), { maxLength: 3 });
  if (isEnumType(type)) return fc.constantFrom(...type.getValues().map((value) => value.name));
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const values = Object.fromEntries(fields.map((field) => [field.name, anyValue(field.name, field.type, of)]));
    // An @oneOf input mostly has one member.
    if (type.isOneOf)
      return fc.oneof(...Object.entries(values).map(([one, value]) => fc.record({ [one]: value })), fc.record(values));
    const required = fields.filter((field) => isNonNullType(field.type)).map((field) => field.name);
    return fc.record<Record<string, unknown>, string>(values, { requiredKeys: required });
  }
  if (type.name === 'Int')
    return fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 1, max: 20 }) },
      fc.constantFrom(0, -1, 1000, 1001, 2 ** 31, 1.5),
    );
  if (type.name === 'Boolean') return fc.boolean();
  return stringFor(nameOf(name, of));
}

function requestOf(kind: string, field: fc.Arbitrary<Selected>): fc.Arbitrary<FuzzRequest> {
  const params = field.map((selected) => operationOf(kind, selected));
  const text = params.map((one) => JSON.stringify(one));
  const body = fc.oneof(
    { weight: 16, arbitrary: text.map(bytesOf) },
    { weight: 1, arbitrary: garbled(text) },
    // The document is damaged inside valid JSON.
    {
      weight: 2,
      arbitrary: params.chain((one) =>
        garbled(fc.constant(one.query)).map((query) => bytesOf(JSON.stringify({ ...one, query }))),
      ),
    },
    // Unknown or wrong members of the request.
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          params,
          fc.record(
            { query: anyJson, variables: anyJson, operationName: anyJson, extensions: anyJson },
            { requiredKeys: [] },
          ),
        )
        .map((both) => bytesOf(JSON.stringify(Object.assign({}, ...both)))),
    },
    { weight: 1, arbitrary: params.map((one) => bytesOf(JSON.stringify([one, one]))) },
    { weight: 1, arbitrary: anyJson.map((value) => bytesOf(JSON.stringify(value))) },
  );
  const accept =
    kind === 'subscription'
      ? fc.constant('text/event-stream')
      : fc.constantFrom(
          '*/*',
          'application/json',
          'application/graphql-response+json',
          'application/json, text/event-stream',
        );
  const posted = fc.record({ body, accept, odd: oddHeaders, who }).map(({ body, accept, odd, who }) => ({
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json', accept, ...odd },
    body,
    who,
  }));
  const got = fc.record({ params, odd: oddHeaders, who }).map(({ params, odd, who }) => ({
    method: 'GET',
    path: `/graphql?${new URLSearchParams({ query: params.query, variables: JSON.stringify(params.variables) })}`.slice(
      0,
      6_000,
    ),
    headers: odd,
    who,
  }));
  return fc.oneof({ weight: 15, arbitrary: posted }, { weight: 1, arbitrary: got });
}

/** An operation by the GraphQL-over-HTTP specification: arguments are variables or literals. */
function operationOf(kind: string, field: Selected): { query: string; variables: Record<string, unknown> } {
  const variables: Record<string, unknown> = {};
  const definitions: string[] = [];
  const print = ({ name, args, below }: Selected): string => {
    const given = Object.entries(args).map(([argument, { type, value, inline }]) => {
      if (inline) return `${argument}: ${literal(value)}`;
      const variable = `v${definitions.length}`;
      definitions.push(`$${variable}: ${type}`);
      variables[variable] = value;
      return `${argument}: $${variable}`;
    });
    const selected = below ? ` { ${below.map(print).join(' ')} }` : '';
    return `${name}${given.length > 0 ? `(${given.join(', ')})` : ''}${selected}`;
  };
  const selection = print(field);
  const head = definitions.length > 0 ? `${kind} (${definitions.join(', ')})` : kind;
  return { query: `${head} { ${selection} }`, variables };
}

/** The literal of a value; enum values become strings, which are invalid too. */
const literal = (value: unknown): string =>
  // Member names lose their quotes, if they are names.
  JSON.stringify(value)?.replaceAll(/"(\w+)":/g, '$1:') ?? 'null';

const mostly = <T>(usual: T, others: fc.Arbitrary<T>, weight = 8): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

/** Operations of each root field, read from the schema; a new field is included without a change here. */
export const graphqlRequests: Readonly<Record<string, fc.Arbitrary<FuzzRequest>>> = Object.fromEntries(
  rootFields.map(({ name, kind, field }) => [name, requestOf(kind, fieldOf(field, DEPTH))]),
);
