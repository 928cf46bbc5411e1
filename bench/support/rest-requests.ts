import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';

/** A GET request: path, query and Accept header. */
export interface RestRequest {
  path: string;
  query: Readonly<Record<string, string>>;
  accept: string;
}

type Pools = Readonly<Record<string, readonly unknown[]>>;

interface Parameter {
  $ref?: string;
  in: string;
  name: string;
  required?: boolean;
  schema?: { enum?: string[]; items?: { enum?: string[] } };
}
interface Operation {
  parameters?: Parameter[];
  responses: Record<string, { content?: object }>;
}
interface Get {
  path: string;
  parameters: Parameter[];
  types: string[];
}

/** Streams end with their client only, and routes about the process read no rows. */
const LEFT_OUT = /stream|\/imports\/\{id\}\/events$|livez|readyz|metrics|openapi/;

const { paths, components } = openApiDocument() as {
  paths: Record<string, { get?: Operation }>;
  components: { parameters: Record<string, Parameter> };
};
const named = ({ $ref, ...parameter }: Parameter): Parameter =>
  components.parameters[$ref?.slice($ref.lastIndexOf('/') + 1) ?? ''] ?? parameter;

const gets: readonly Get[] = Object.entries(paths).flatMap(([path, { get }]) =>
  !get || LEFT_OUT.test(path)
    ? []
    : [
        {
          path,
          parameters: (get.parameters ?? []).map(named),
          types: Object.keys(get.responses['200']?.content ?? { 'application/json': {} }),
        },
      ],
);

/** Random GET requests of all operations, with values from the pools. */
export function restRequests(random: () => number, pools: Pools) {
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const textOf = ({ name, schema }: Parameter): string | null => {
    const known = pools[name] ?? schema?.enum ?? schema?.items?.enum;
    return known ? String(one(known)) : null;
  };
  const fresh = (): RestRequest => {
    const { path, parameters, types } = one(gets);
    const query: Record<string, string> = {};
    let filled = path;
    for (const parameter of parameters) {
      const value = textOf(parameter);
      if (value === null) continue;
      if (parameter.in === 'path') filled = filled.replace(`{${parameter.name}}`, value);
      if (parameter.in === 'query' && (parameter.required || random() < 0.4)) query[parameter.name] = value;
    }
    return { path: filled, query, accept: one(types) };
  };
  /** Gives a request to the same path, with a new query that keeps part of the old one. */
  const varied = (from: RestRequest): RestRequest => {
    for (let tries = 0; tries < 50; tries++) {
      const other = fresh();
      if (other.path.split('/')[1] !== from.path.split('/')[1]) continue;
      const kept = Object.entries(from.query).filter(() => random() < 0.7);
      return { ...other, path: from.path, query: { ...other.query, ...Object.fromEntries(kept) } };
    }
    return fresh();
  };
  return { fresh, varied };
}

export const addressOf = ({ path, query }: RestRequest): string => `${path}?${new URLSearchParams(query)}`;
