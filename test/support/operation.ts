import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isObjectType,
  isScalarType,
  isUnionType,
} from 'graphql';
import type { Answer, Client, Headed, Json } from './client.ts';
import { unknownId } from './factories.ts';
import type { World } from './worlds.ts';

/** A call of one operation, by REST or GraphQL. */
export interface Call {
  /** Path of the REST request; empty if only GraphQL has the operation. */
  path: string;
  body?: unknown;
  /** Variables of the GraphQL document; `file` becomes `variables.input.file`. */
  variables?: Json;
  file?: Blob;
}

/** An operation of the API: a REST request and the GraphQL field that does the same. */
export interface Operation {
  /** The GraphQL field, such as `Query.fleets`; missing if only REST has the operation. */
  field?: string;
  document?: string;
  /** The reason why only one interface has the operation. */
  only?: string;
  scope: 'fleets:read' | 'fleets:write' | 'contracts:read' | 'contracts:write';
  /** The error code of the first case for another company's ids; missing if the case names none or only filters. */
  others?: string;
  /** For a token without a scope, objects that need the scope are null instead of FORBIDDEN. */
  hides?: true;
  /** A call that names another company's ids, if the first case does not. */
  foreign?(world: World): Call;
  /** An id of an import may be unknown yet, so only a malformed id is refused. */
  judgesImportId?: boolean;
  /** Converts the GraphQL value to the REST value; `rest` by default. */
  asRest?(value: Json, world: World): Json;
  /** REST's error for a value that GraphQL gives in its payload. */
  refusal?(value: Json): { code: string; faults: string[]; details: Json } | false | null;
  /** The operation writes, so each interface gets its own world. */
  writes?: boolean;
  /** The operation streams server-sent events; tests compare the first. */
  streams?: boolean;
  /** Input names that differ: REST's by GraphQL's. */
  renamed?: Readonly<Record<string, string>>;
  /** The first case is valid and names every object that the operation can name. */
  cases: Readonly<Record<string, (world: World) => Call>>;
}

/** An operation of both interfaces. */
export type Twin = Operation & { field: string; document: string };

export const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
/** GraphQL has objects for these, REST has ids. */
const references = new Set(['Fleet', 'Manufacturer']);

/** All fields of a type that have no arguments; a new field that REST lacks fails the parity test. */
export function all(name: string, ...without: string[]): string {
  const type = schema.getType(name);
  if (isUnionType(type))
    return `__typename ${type
      .getTypes()
      .map((one) => `... on ${one.name} { ${all(one.name)} }`)
      .join(' ')}`;
  if (!isObjectType(type)) throw new Error(`${name} is no object type`);
  const fields = Object.values(type.getFields()).filter((field) => !field.args.length && !without.includes(field.name));
  return fields
    .map((field) => {
      const of = getNamedType(field.type);
      if (isScalarType(of) || isEnumType(of)) return field.name;
      return `${field.name} { ${references.has(of.name) ? 'id' : all(of.name)} }`;
    })
    .join(' ');
}

/** GraphQL's name of an event type, and the reverse. */
export const nameOf = (type: string) => type.toUpperCase().replace('.', '_');
export const typeOf = (name: string) => name.toLowerCase().replace('_', '.');
/** Converts an input of REST to GraphQL: event types have other names. */
export const withNames = (input: Json) => ({ ...input, ...(input.types && { types: input.types.map(nameOf) }) });

/** Converts GraphQL's value to REST's: `fleet { id }` becomes `fleetId`, FLEET_CREATED becomes `fleet.created`. */
export function rest(value: Json): Json {
  if (Array.isArray(value)) return value.map(rest);
  if (typeof value !== 'object' || value === null) return value;
  if (Object.keys(value).toSorted().join() === 'vehicleId,vin') {
    const { vehicleId: id, ...others } = value as Json;
    return { id, ...others };
  }
  return Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([key, one]) => {
      const isReference = one && typeof one === 'object' && Object.keys(one).join() === 'id';
      if (isReference && key === 'fleet') return ['fleetId', one.id];
      // A brand of a provider is known by its manufacturer's id alone.
      if (isReference && key === 'manufacturer') return ['since' in value ? 'id' : key, one.id];
      if (key === 'type') return [key, /^[A-Z]+_[A-Z]+$/.test(one) ? typeOf(one) : one];
      if (key === 'rejectedCount') return ['rejected', one];
      if (key === 'types') return [key, one.map(typeOf)];
      if (key === 'data') return [key, dataAsRest(one)];
      return [key, rest(one)];
    }),
  );
}

/** REST's name of a field: `companyAddress` for `COMPANY_ADDRESS`. */
const memberOf = (name: string) => name.toLowerCase().replace(/_(\w)/, (_, letter: string) => letter.toUpperCase());

/** Converts the data of an event to REST's form. */
function dataAsRest({ __typename, ...data }: Json): Json {
  const { changes = data.contractChanges, contractChanges: _, ...others } = data;
  if (__typename.endsWith('UpdatedData')) {
    const named = changes.map(({ field, ...change }: Json) => [memberOf(field), change]);
    return { ...others, changes: Object.fromEntries(named) };
  }
  if (__typename === 'VehicleRemovedData') return {};
  if (__typename === 'VehicleAddedData') return data.fromImportId ? { importId: data.fromImportId } : {};
  const names = Object.entries(data).map(([key, value]) => [key.replace(/^(from|to)[A-Z]\w*$/, '$1'), value]);
  return Object.fromEntries(names);
}

export const query = (field: string, args: string, selection: string) => ({
  field: `Query.${field}`,
  scope: 'fleets:read' as const,
  document: `query ${args && `(${args})`} { ${field}${args && `(${passed(args)})`} { ${selection} } }`,
});
export const subscription = (field: string, args: string, selection: string) => ({
  field: `Subscription.${field}`,
  scope: 'fleets:read' as const,
  document: `subscription (${args}) { ${field}(${passed(args)}) { ${selection} } }`,
  streams: true,
});
export const mutation = (field: string, selection: string) => {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
  return {
    field: `Mutation.${field}`,
    scope: 'fleets:write' as const,
    document: `mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`,
    writes: true,
  };
};
const passed = (args: string) => args.replaceAll(/\$(\w+): [\w![\]]+/g, '$1: $$$1');

export const listed = (selection: string) => `nodes { ${selection} } pageInfo { hasNextPage endCursor }`;
export const page = '$first: Int, $after: String';
/** A page in the form in which tests read REST's: its items, and the cursor of the next page. */
export const asPage = ({ nodes, pageInfo }: Json) => ({
  items: rest(nodes),
  next: pageInfo.hasNextPage ? pageInfo.endCursor : null,
});
export const paging = (path: string, variables: (world: World) => Json = () => ({})) => {
  const at = (params: Json, own: Json) => (world: World) => {
    const filled = path.replaceAll(/<(\w+)>/g, (_, key: keyof World) => encodeURIComponent(String(world[key])));
    const search = new URLSearchParams(params).toString();
    const full = search ? `${filled}${filled.includes('?') ? '&' : '?'}${search}` : filled;
    return { path: full, variables: { ...variables(world), ...own } };
  };
  return {
    'a list': at({}, { first: 1000 }),
    'its first page': at({ limit: 1 }, { first: 1 }),
    'a page too small': at({ limit: 0 }, { first: 0 }),
    'a page too big': at({ limit: 1001 }, { first: 1001 }),
    'a cursor that is none': at({ after: 'nonsense' }, { after: 'nonsense' }),
  };
};
export const renamed = { first: 'limit' };

export const one = (path: string, key: keyof World, arg: string, name = 'input') => {
  const call = (id: string) => ({
    path: path.replace('*', encodeURIComponent(id)),
    variables: name === '' ? { [arg]: id } : { [name]: { [arg]: id } },
  });
  return {
    'what is there': (world: World) => call(String(world[key])),
    'its id in capitals': (world: World) => call(String(world[key]).toUpperCase()),
    'an unknown id': () => call(unknownId),
    'a malformed id': () => call('no id'),
  };
};

export const body = (path: string, input: (world: World) => Json, more: Json = {}) => {
  return (world: World): Call => ({
    path,
    body: input(world),
    variables: { input: { ...withNames(input(world)), ...more } },
  });
};

/** Sends the REST request of an operation, whose name is such as `GET /fleets`. */
export const askRest = (client: Client, name: string, { path, body }: Call, headers?: Headed): Promise<Answer> =>
  client.send(name.split(' ')[0] ?? '', path, body, headers);

/** Sends the GraphQL document; for a subscription, returns its events until the stream falls silent. */
export function askGraphql(
  client: Client,
  { document: query, streams }: Pick<Operation, 'document' | 'streams'>,
  { variables, file }: Call,
  headers: Headed = {},
): Promise<Answer> {
  return client.post('/graphql', file ? formOf(query, variables, file) : { query, variables }, {
    ...(streams && { accept: 'text/event-stream' }),
    ...headers,
  });
}

function formOf(query: string | undefined, variables: Json, file: Blob): FormData {
  const form = new FormData();
  form.append('operations', JSON.stringify({ query, variables }));
  form.append('map', '{"0":["variables.input.file"]}');
  form.append('0', file, 'vins.csv');
  return form;
}

export const textOf = ({ body }: Answer) => (typeof body === 'string' ? body : JSON.stringify(body));

/** The first error code of a response, or undefined. The codes of an eligibility do not count. */
export const codeOf = (answer: Answer): string | undefined => /"code":"(\w+)"/.exec(textOf(answer))?.[1];

/** Every field of Query, Mutation and Subscription. */
export const rootFields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
  (root) =>
    Object.values((root as GraphQLObjectType).getFields()).map((field) => ({
      name: `${root?.name}.${field.name}`,
      kind: `${root?.name}`.toLowerCase(),
      field,
    })),
);
