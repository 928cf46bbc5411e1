import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ErrorCode } from '../../src/core/errors.ts';
import { headers } from '../../src/rest/openapi/json-schema.ts';
import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import { errorHeaders } from '../../src/rest/openapi/problems.ts';
import type { Answer, Json } from './client.ts';

const document: Json = openApiDocument();
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema(closed(document) as object, 'openapi');

/** Clients must accept unknown fields, but tests must not: each field has to be in the document. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  return copy.type === 'object' && copy.properties && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** Fixed paths come before templates, as in the router. */
const templates = Object.keys(document.paths)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  .toSorted((a, b) => a.path.split('{').length - b.path.split('{').length);

/** Throws if openapi.json does not allow this response. Unknown paths are not checked. */
export function checkAnswer(method: string, pathname: string, answer: Answer): void {
  const faults = inputErrorsOf(method, pathname, answer);
  if (faults.length === 0) return;
  throw new Error(`${method} ${pathname} ${answer.status} is not what openapi.json says:\n${faults.join('\n')}`);
}

/** Parts of the response that openapi.json does not allow. */
export function inputErrorsOf(method: string, pathname: string, answer: Answer): string[] {
  const type = answer.headers.get('content-type')?.split(';')[0];
  const { path } = templates.find(({ pattern }) => pattern.test(pathname)) ?? {};
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = path && document.paths[path][verb];
  const code: ErrorCode | undefined = type === 'application/problem+json' ? answer.body?.code : undefined;
  if (!operation || code === 'NOT_FOUND' || code === 'METHOD_NOT_ALLOWED') {
    return code ? [...schemaFaults('#/components/schemas/Problem', answer.body), ...headerFaults(answer, code)] : [];
  }
  const listed = operation.responses[answer.status];
  if (!listed) return ['its status'];
  const documented = listed.$ref ? document.components.responses[listed.$ref.split('/').at(-1)] : listed;
  const at = `${listed.$ref ?? `#/paths/${escaped(path)}/${verb}/responses/${answer.status}`}/content`;
  const content = documented.content?.[type ?? ''];
  return [
    ...Object.keys(headers)
      // With CORS, every response has Vary.
      .filter((name) => name !== 'Vary' && answer.headers.has(name) && !documented.headers[name])
      .map((name) => `its header ${name}`),
    ...headerFaults(answer, code),
    ...(code && !content?.examples?.[code] ? [`its code ${code}`] : []),
    ...bodyFaults(method, answer, documented.content, content, `${at}/${escaped(type ?? '')}/schema`),
  ];
}

function bodyFaults(method: string, answer: Answer, all: Json, content: Json, schema: string): string[] {
  if (method === 'HEAD') return [];
  if (!all) return answer.body === null ? [] : ['that it has a body'];
  if (!content) return [`its type ${answer.headers.get('content-type')}`];
  return schemaFaults(schema, answer.body ?? '');
}

function headerFaults({ headers: sent }: Answer, code: ErrorCode | undefined): string[] {
  const wanted = [
    'X-Request-Id',
    ...(code ? errorHeaders(code) : []),
    ...(code === 'METHOD_NOT_ALLOWED' ? ['Allow'] : []),
  ];
  return wanted.filter((name) => !sent.has(name)).map((name) => `that it lacks ${name}`);
}

function schemaFaults(pointer: string, body: unknown): string[] {
  const validate = ajv.getSchema(`openapi${pointer}`);
  if (!validate) return [`there is no schema at ${pointer}`];
  validate(body);
  return (validate.errors ?? []).map(
    (error) => `body${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}

const escaped = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
