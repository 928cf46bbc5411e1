import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import { parse } from 'yaml';
import type { Json } from './client.ts';

// Compares exchanges with manufacturers' published documents: `node test/support/published.ts exchanges.jsonl`, a line for each.

export interface Exchange {
  /** A file of `folder`. */
  document: string;
  method: string;
  path: string;
  /** Absent where the request, or the answer, is empty. */
  body?: unknown;
  status: number;
  answer?: unknown;
}

/** The documents are kept beside the project, not in it. */
const folder = join(import.meta.dirname, '../../../shared/vendor');
export const hasDocuments = existsSync(folder);
/** For names of tests that need the documents. */
export const unlessMissing = hasDocuments ? '' : ' (skipped: ../shared/vendor, with the documents, is not there)';

/** Objects take the members that they name, unless the document allows others: an honest server refuses the rest. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const all: Json = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return all.type === 'object' && all.properties ? { additionalProperties: false, ...all } : all;
}

/** A pattern's names have no hyphens. */
const inPattern = (name: string) => name.replaceAll('-', '_');

const opened = new Map<string, ReturnType<typeof open>>();

function open(name: string) {
  const document: Json = parse(readFileSync(join(folder, name), 'utf8'));
  const ajvOf = (components: unknown) =>
    formats
      .default(new Ajv({ strict: false, allErrors: true, coerceTypes: false }))
      .addSchema({ ...document, components }, name);
  const paths = Object.entries<Json>(document.paths).map(([template, item]) => {
    const pathname = template.replaceAll(/\{([\w-]+)\}/g, (_, name) => `:${inPattern(name)}`);
    return { template, item, pattern: new URLPattern({ pathname }) };
  });
  return { paths, requests: ajvOf(closed(document.components)), answers: ajvOf(document.components) };
}

const of = (name: string) => {
  const found = opened.get(name) ?? open(name);
  opened.set(name, found);
  return found;
};

const pointer = (...keys: string[]) =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
const told = (where: string) => (error: ErrorObject) => `${where}${error.instancePath} ${error.message}`;

function invalid(ajv: Ajv, reference: string, value: unknown, where: string): string[] {
  const validate = ajv.getSchema(reference);
  if (!validate) throw new Error(`There is no schema at ${reference}.`);
  return validate(value) ? [] : (validate.errors ?? []).map(told(where));
}

/** The operation's place in its document, and its parameters. */
function operationIn(paths: ReturnType<typeof open>['paths'], { method, path }: Exchange) {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  for (const { template, item, pattern } of paths) {
    const operation = item[method.toLowerCase()];
    const params = operation && pattern.exec({ pathname })?.pathname.groups;
    if (params) return { template, operation, params, query: Object.fromEntries(searchParams) };
  }
  return null;
}

const empty = (value: unknown): boolean => value === undefined || value === null;

/** What the document does not have: in the request, and in the answer. */
export function faultsOf(exchange: Exchange): { request: string[]; answer: string[] } {
  const { paths, requests, answers } = of(exchange.document);
  const found = operationIn(paths, exchange);
  if (!found) return { request: [`${exchange.method} ${exchange.path} is no operation`], answer: [] };
  const { template, operation, params, query } = found;
  const at = `${exchange.document}#${pointer('paths', template, exchange.method.toLowerCase())}`;
  const json = ['content', 'application/json', 'schema'];
  const declared: Json[] = operation.parameters ?? [];
  const parameters = declared.flatMap(({ name, in: where }, index) => {
    if (where !== 'path') return [];
    return invalid(requests, `${at}${pointer('parameters', `${index}`, 'schema')}`, params[inPattern(name)], name);
  });
  const unknown = Object.keys(query).filter((name) => !declared.some((one) => one.in === 'query' && one.name === name));
  const takesBody = operation.requestBody !== undefined;
  const body = takesBody
    ? invalid(requests, `${at}${pointer('requestBody', ...json)}`, exchange.body, 'body')
    : empty(exchange.body)
      ? []
      : ['body must be empty'];
  return {
    request: [...parameters, ...unknown.map((name) => `query has ${name}`), ...body],
    answer: answerFaults(),
  };

  function answerFaults(): string[] {
    const response = operation.responses[exchange.status];
    if (!response) return [`${exchange.status} is not documented`];
    if (!response.content) return empty(exchange.answer) ? [] : ['answer must be empty'];
    return invalid(answers, `${at}${pointer('responses', `${exchange.status}`, ...json)}`, exchange.answer, 'answer');
  }
}

if (import.meta.main) {
  const lines = readFileSync(process.argv[2] ?? '', 'utf8')
    .split('\n')
    .filter(Boolean);
  for (const [index, line] of lines.entries()) {
    const { request, answer } = faultsOf(JSON.parse(line));
    for (const fault of [...request, ...answer]) {
      console.log(`line ${index + 1}: ${fault}`);
      process.exitCode = 1;
    }
  }
}
