import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openApiFile, openApiText } from '../../src/commands/print.ts';
import { statusOf } from '../../src/core/errors.ts';
import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import { routes } from '../../src/rest/router.ts';
import type { Json } from '../support/client.ts';
import { checkAnswer } from '../support/openapi.ts';

const run = promisify(execFile);
const document: Json = openApiDocument();
const operations: Json[] = Object.values<Json>(document.paths).flatMap((path) => Object.values(path));

test('the document accepts every id that the service answers with 404', () => {
  const ids = Object.values<Json>(document.paths)
    .flatMap((methods) => Object.values<Json>(methods))
    .flatMap(({ parameters = [] }) => parameters)
    .filter((one: Json) => one.in === 'path');
  expect(ids.length).toBeGreaterThan(15);
  for (const { schema } of [...ids, document.components.parameters.fleetId]) expect(schema).toEqual({ type: 'string' });
});

/**
 * What generators of clients append to the name of an operation: orval, hey-api, Kubb, RTK Query, openapi-zod-client,
 * oazapfts and openapi-generator, whose types stand beside those of the components.
 */
const appended =
  /^(?:(?:path|query|header|api)?(?:params|parameters)|(?:api|query|mutation)?(?:requests?|responses?|args?)|results?|body(?:one|two|item)?|data|errors?|headers|path|query|mutation|variables|options|success|status|url|key|(?:status)?[1-5]\d\d|default)?$/;

describe('names of components', () => {
  const { examples, securitySchemes, ...named } = document.components;
  const written = Object.entries<Json>(named).flatMap(([kind, parts]) =>
    Object.keys(parts).map((name) => [kind, name]),
  );
  // Generators write them in their own case, and some file systems know none.
  const plain = (name = '') => name.replaceAll(/[^a-z\d]/gi, '').toLowerCase();
  const all = written.map(([, name]) => plain(name));

  test('differ in more than their case, also from one kind to another', () => {
    expect(written.filter(([, name]) => all.indexOf(plain(name)) !== all.lastIndexOf(plain(name)))).toEqual([]);
  });

  test('are none that generators of clients make of operations', () => {
    const made = (name: string) =>
      operations.some(({ operationId }) => {
        const id = plain(operationId);
        return name.startsWith(id) && appended.test(name.slice(id.length));
      });
    expect(['searchresult', 'listfleetsparams', 'getfleet200'].filter((name) => !made(name))).toEqual([]);
    expect(all.filter(made)).toEqual([]);
  });

  test('are none that generators of clients make of members', () => {
    const schemas = Object.entries<Json>(named.schemas);
    // A member that refers to a component takes its name.
    const isNamed = (member: Json) => member.$ref ?? member.anyOf?.some((one: Json) => one.$ref);
    const made = schemas.flatMap(([name, { properties = {} }]) =>
      Object.entries<Json>(properties).flatMap(([key, member]) => (isNamed(member) ? [] : plain(name + key))),
    );
    expect(schemas.map(([name]) => name).filter((name) => made.includes(plain(name)))).toEqual([]);
  });
});

describe('openapi.json', () => {
  test('the committed document matches the code; `npm run openapi` writes it', async () => {
    expect(await readFile(openApiFile, 'utf8')).toBe(openApiText());
  });

  test('redocly finds no error and no warning', async () => {
    const { stderr } = await run('node_modules/.bin/redocly', ['lint', '--extends=recommended', 'docs/openapi.json'], {
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect(stderr).toMatch(/is valid/);
    expect(stderr).not.toMatch(/warning/i);
  });

  test('every route is in the document, and operation names are unique', () => {
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { method, path, operationId } of routes) {
      const operation = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')][method.toLowerCase()];
      expect(operation.operationId).toBe(operationId);
    }
  });

  test.each(operations.map((operation) => [operation.operationId, operation]))(
    '%s has a summary, a description, an example for each body, and a response for every kind of fault',
    (_name, operation) => {
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
      expect(operation.description).toMatch(/^[A-Z].*\.$/s);
      const bodies = [operation.requestBody, ...Object.values<Json>(operation.responses)].filter(
        (part) => part?.content,
      );
      for (const body of bodies) {
        for (const [type, content] of Object.entries<Json>(body.content)) {
          if (!/^multipart|sheet$/.test(type)) expect(content.example ?? content.examples).toBeDefined();
        }
      }
      if (operation.tags[0] !== 'Operation') {
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['429', '500', '503']));
      }
    },
  );

  test('every field of every resource is described', () => {
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      for (const [field, { description, $ref }] of Object.entries<Json>(schema.properties ?? {})) {
        if (!$ref && !/^(vehicles|rejected|deleted|data|status)$/.test(field)) {
          expect(description, `${name}.${field}`).toBeTruthy();
        }
      }
    }
  });

  test('its codes are those of statusOf', () => {
    expect(document.components.schemas.ErrorCode.enum).toEqual(Object.keys(statusOf));
  });
});

describe('checkAnswer, which validates every REST response in tests', () => {
  const fleet = document.paths['/fleets'].post.responses[201].content['application/json'].example;
  const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
    status,
    body,
    headers: new Headers({ 'content-type': 'application/json', 'x-request-id': '1', location: '/', ...headers }),
  });

  test('accepts a documented response', () => {
    expect(() => checkAnswer('POST', '/fleets', answer(201, fleet))).not.toThrow();
  });

  test.each([
    ['a status', answer(202, fleet), /its status/],
    ['a new field', answer(201, { ...fleet, colour: 'red' }), /additionalProperty.*colour/],
    ['a missing field', answer(201, { ...fleet, vat: undefined }), /required property 'vat'/],
    ['another format', answer(201, { ...fleet, createdAt: 'today' }), /createdAt.*date-time/],
    ['another type', answer(201, fleet, { 'content-type': 'text/html' }), /its type/],
    ['a header', answer(201, fleet, { 'retry-after': '1' }), /its header Retry-After/],
  ])('refuses %s that the document does not know', (_what, given, reason) => {
    expect(() => checkAnswer('POST', '/fleets', given)).toThrow(reason);
  });

  test('refuses a code that the operation does not have', () => {
    const problem = document.components.examples.VEHICLE_NOT_FOUND.value;
    const given = answer(404, problem, { 'content-type': 'application/problem+json' });
    expect(() => checkAnswer('GET', '/fleets/1', given)).toThrow(/its code VEHICLE_NOT_FOUND/);
  });
});

test('the token is optional where contracts may be open, and packs are those of a company', () => {
  const optional = Object.entries<Json>((openApiDocument() as Json).paths).flatMap(([path, methods]) =>
    Object.values<Json>(methods).some(({ security }) => security.length > 1) ? path : [],
  );
  expect(optional).toContain('/contracts');
  expect(optional.filter((path) => !path.startsWith('/contracts'))).toEqual([]);
});
