import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';
import type { Headed, Json } from './client.ts';
import { rootFields } from './operation.ts';
import { describedRoutes, resolve } from './operations.ts';
import { nameOf } from './worlds.ts';

/** A request of one operation, as large or as invalid as the limits allow. */
export interface Largest {
  operation: string;
  shape: string;
  method: string;
  path: string;
  /** JSON text. */
  body?: string;
  headers?: Headed;
}

/** Ids and VINs of existing objects, by the names that paths, arguments and fields use for them. */
export type Known = Readonly<Record<string, string>>;

interface Sizes {
  /** The value of LIMIT_JSON_BYTES. */
  bytes: number;
  /** The value of LIMIT_VINS. */
  items: number;
  /** VINs in the fleet, LIMIT_VINS of them. */
  vins: readonly string[];
}

const listOf = (items: number, item: unknown) => Array.from({ length: items }, () => item);

/** Lists that are too long, invalid in every item, or valid and useless. */
const lists = ({ bytes, items, vins }: Sizes): Record<string, () => unknown[]> => ({
  'a list of as many numbers as a body holds': () => listOf(Math.floor(bytes / 2) - 500, 0),
  'a list of wrong items': () => listOf(items, true),
  'a list of lists': () => listOf(items, []),
  'a list of empty texts': () => listOf(items, ''),
  'a list of texts that are wrong in every character': () => listOf(items, 'é'.repeat(17)),
  'a list of VINs': () => [...vins],
  'a tenth as many VINs': () => vins.slice(0, items / 10),
  'a list of long texts': () => listOf(items, 'I'.repeat(Math.floor(bytes / items) - 10)),
});

/** Bodies that are no object, or unusual objects. */
const strange = ({ bytes }: Sizes): Record<string, () => string> => ({
  'a list for a body': () => `[${'0,'.repeat(bytes / 2 - 10)}0]`,
  'a deep body': () => `${'['.repeat(bytes / 2 - 10)}${']'.repeat(bytes / 2 - 10)}`,
  'a text for a body': () => JSON.stringify('x'.repeat(bytes - 10)),
  'a body of many members': () => `{${Array.from({ length: bytes / 12 }, (_, at) => `"m${at}":0`).join()}}`,
});

/** The largest requests of every REST operation. */
export function* largestRest(known: Known, sizes: Sizes): Generator<Largest> {
  for (const { method, path: template, description } of describedRoutes) {
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => known[nameOf(name, template)] ?? name);
    const one = { operation: `${method} ${template}`, method, path };
    const body = description.requestBody?.content['application/json']?.schema;
    if (body) yield* largestBodies(one, body, known, sizes);
    else if (!description.requestBody) yield* largestQueries(one, description);
  }
}

function* largestQueries(one: Omit<Largest, 'shape'>, { parameters = [] }: Json): Generator<Largest> {
  const names = parameters
    .map(({ $ref, ...inline }: Json) => ($ref ? resolve($ref) : inline))
    .filter((parameter: Json) => parameter.in === 'query')
    .map(({ name }: Json) => name);
  const needed = names.includes('conditions') ? `conditions=${encodeURIComponent('{"company":"acme"}')}&` : '';
  yield { ...one, shape: 'as it is', path: `${one.path}?${needed}` };
  if (names.includes('limit')) yield { ...one, shape: 'a full page', path: `${one.path}?${needed}limit=1000` };
  for (const name of names) {
    for (const value of ['x'.repeat(7_000), ','.repeat(7_000), '['.repeat(2_000)]) {
      yield {
        ...one,
        shape: `${name}=${value[0]}…`,
        path: `${one.path}?${needed}${name}=${encodeURIComponent(value)}`,
      };
    }
  }
}

function* largestBodies(one: Omit<Largest, 'shape'>, schemaOf: Json, known: Known, sizes: Sizes): Generator<Largest> {
  const resolved = schemaOf.$ref ? resolve(schemaOf.$ref) : schemaOf;
  const fields = Object.entries<Json>(resolved.properties);
  const right = Object.fromEntries(fields.map(([name]) => [name, known[name]]));
  for (const [shape, make] of Object.entries(strange(sizes))) yield { ...one, shape, body: make() };
  for (const [name, field] of fields) {
    const isList = JSON.stringify(field.anyOf ?? [field]).includes('"array"');
    if (!isList) {
      yield {
        ...one,
        shape: `${name}: a long text`,
        body: JSON.stringify({ ...right, [name]: 'é'.repeat(sizes.bytes / 3) }),
      };
      continue;
    }
    for (const [shape, make] of Object.entries(lists(sizes))) {
      yield { ...one, shape: `${name}: ${shape}`, body: JSON.stringify({ ...right, [name]: make() }) };
    }
  }
}

/** The largest requests of every query and mutation; pages have `first` items. */
export function* largestGraphql(
  known: Known,
  sizes: Sizes,
): Generator<Largest & { byPage: (first: number) => string }> {
  for (const { kind, field } of rootFields) {
    if (kind === 'subscription') continue;
    const one = { operation: `${kind} ${field.name}`, method: 'POST', path: '/graphql' };
    const request = (shape: string, variables: object, selection: (first: number) => string) => {
      const byPage = (first: number) => {
        const query = `${operationHead(kind, field)} ${selection(first)}`;
        return JSON.stringify({ query, variables });
      };
      return { ...one, shape, body: byPage(1000), byPage };
    };
    const right = valuesOf(field, known);
    for (const depth of [1, 2, 3, 4]) {
      const named = (first: number) => `{ ${call(field, first)} ${selectionOf(field.type, depth, first)} }`;
      yield request(`everything to ${depth} levels`, right, named);
    }
    // Asks for the field under twenty aliases, with one level of fields.
    const aliased = (first: number) =>
      `{ ${Array.from({ length: 20 }, (_, at) => `r${at}: ${call(field, first)} ${selectionOf(field.type, 1, first)}`).join(' ')} }`;
    if (kind === 'query') yield request('under twenty names', right, aliased);
    const node = nodeOf(field.type);
    const texts = node && Object.values(node.getFields()).filter(({ type }) => /^(?:String|JSON)/.test(String(type)));
    if (node && texts?.length) {
      const names = Array.from({ length: 25 }, (_, at) => `t${at}: ${texts[at % texts.length]?.name}`).join(' ');
      const repeated = (first: number) =>
        `{ ${Array.from({ length: 20 }, (_, at) => `r${at}: ${call(field, first)} { nodes { ...T } }`).join(' ')} } fragment T on ${node.name} { ${names} }`;
      yield request('texts under many names', right, repeated);
    }
    for (const [place, set] of listsIn(field)) {
      for (const [shape, make] of Object.entries(lists(sizes))) {
        for (const depth of [1, 3]) {
          const below = (first: number) => `{ ${call(field, first)} ${selectionOf(field.type, depth, first)} }`;
          yield request(`${place}: ${shape}, ${depth} levels`, set(structuredClone(right), make()), below);
        }
      }
    }
  }
}

type Field = GraphQLField<unknown, unknown>;
const isPaging = (name: string) => ['first', 'last', 'after', 'before'].includes(name);

const operationHead = (kind: string, { args }: Field): string => {
  const variables = args.filter(({ name }) => !isPaging(name)).map(({ name, type }) => `$${name}: ${type}`);
  return variables.length > 0 ? `${kind} (${variables.join(' ')})` : kind;
};

const call = ({ name, args }: Field, first: number): string => {
  const given = args.flatMap((arg) =>
    isPaging(arg.name) ? (arg.name === 'first' ? [`first: ${first}`] : []) : [`${arg.name}: $${arg.name}`],
  );
  return given.length > 0 ? `${name}(${given.join(' ')})` : name;
};

/** Selects every field that needs no arguments, `depth` levels of lists and objects deep. */
function selectionOf(output: GraphQLOutputType, depth: number, first: number): string {
  const type = getNamedType(output);
  if (isUnionType(type)) {
    const types = type.getTypes().map((one) => `... on ${one.name} ${selectionOf(one, depth, first)}`);
    return `{ __typename ${types.join(' ')} }`;
  }
  if (!isObjectType(type)) return isCompositeType(type) ? '{ __typename }' : '';
  const fields = Object.values(type.getFields()).filter(({ args }) => args.every(({ type }) => !isNonNullType(type)));
  const selected = fields.flatMap((field) => {
    const below = getNamedType(field.type);
    if (!isCompositeType(below)) return [field.name];
    // A connection and its items count as one level; `edges` has the same items as `nodes`.
    if (depth === 0 || field.name === 'edges') return [];
    const page = field.args.some(({ name }) => name === 'first') ? `(first: ${first})` : '';
    return [
      `${field.name}${page} ${selectionOf(field.type, below.name.endsWith('Connection') ? depth : depth - 1, first)}`,
    ];
  });
  return `{ ${['__typename', ...selected].join(' ')} }`;
}

/** The type of a connection's items. */
function nodeOf(output: GraphQLOutputType): GraphQLObjectType | null {
  const type = getNamedType(output);
  const nodes = isObjectType(type) ? type.getFields().nodes : undefined;
  return nodes ? (getNamedType(nodes.type) as GraphQLObjectType) : null;
}

function valuesOf({ args, name: of }: Field, known: Known): Record<string, unknown> {
  const needed = args.filter(({ type }) => isNonNullType(type));
  return Object.fromEntries(needed.map(({ name, type }) => [name, valueOfType(type, name, of, known)]));
}

function valueOfType(type: GraphQLInputType, name: string, of: string, known: Known): unknown {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return [valueOfType(nullable.ofType, name.replace(/s$/, ''), of, known)];
  if (!isInputObjectType(nullable)) return known[nameOf(name, of)] ?? 'x';
  const fields = Object.values(nullable.getFields());
  const needed = nullable.isOneOf ? fields.slice(0, 1) : fields.filter((field) => isNonNullType(field.type));
  return Object.fromEntries(needed.map((field) => [field.name, valueOfType(field.type, field.name, of, known)]));
}

type Set = (values: Record<string, unknown>, list: unknown[]) => Record<string, unknown>;

/** Paths of all list arguments, each with a function that sets the list. */
function listsIn({ args }: Field): [place: string, set: Set][] {
  return args.flatMap(({ name, type }): [string, Set][] => {
    const nullable = getNullableType(type);
    if (isListType(nullable)) return [[name, (values, list) => ({ ...values, [name]: list })]];
    if (!isInputObjectType(nullable)) return [];
    const fields = Object.values(nullable.getFields()).filter((field) => isListType(getNullableType(field.type)));
    return fields.map((field): [string, Set] => [
      `${name}.${field.name}`,
      (values, list) => ({ ...values, [name]: { ...(values[name] as object), [field.name]: list } }),
    ]);
  });
}
