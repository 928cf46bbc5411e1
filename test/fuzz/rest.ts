import fc from 'fast-check';
import type { Json } from '../support/client.ts';
import { describedRoutes, resolve } from '../support/operations.ts';
import { nameOf } from '../support/worlds.ts';
import { type FuzzRequest, oddHeaders, who } from './request.ts';
import { anyJson, bytesOf, garbled, naughty, rarely, stringFor } from './values.ts';

function requestOf(method: string, path: string, { parameters = [], requestBody }: Json): fc.Arbitrary<FuzzRequest> {
  const all: Json[] = parameters.map((one: Json) => (one.$ref ? resolve(one.$ref) : one));
  const query = all.filter((one) => one.in === 'query').map((one) => one.name);
  const schema = requestBody?.content['application/json']?.schema;
  return fc
    .record({
      method: mostly(
        method,
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'),
      ),
      path: addressOf(path),
      query: queryOf(query),
      headers: oddHeaders,
      body: schema ? bodyOf(schema) : rarely(garbled(fc.constant('{"a":1}')), 15),
      who,
    })
    .map(({ query, body, ...rest }) => ({
      ...rest,
      path: rest.path + query,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...rest.headers },
      ...(body !== undefined && { body }),
    }));
}

const mostly = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

/** A text in an address: encoded correctly or not. */
const inAddress = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: text.map((one) => encodeURIComponent(one.slice(0, 2_000).toWellFormed())) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '%',
        '%zz',
        '%00',
        '%ff',
        '%ed%a0%80',
        '%2f..%2f..',
        '..',
        '.',
        '%2e%2e',
        ';',
        '*',
        ':id',
      ),
    },
  );

const addressOf = (path: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...path
        .split(/\{(\w+)\}/)
        .map((part, at, all) => (at % 2 ? inAddress(stringFor(nameOf(part, all[at - 1] ?? ''))) : fc.constant(part))),
      mostly('', fc.constantFrom('/', '//', '/.', '%20', '/x', ';a=b')),
    )
    .map((parts) => parts.join(''));

function queryOf(names: readonly string[]): fc.Arbitrary<string> {
  const pair = fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(...names, 'limit') },
      { weight: 1, arbitrary: fc.constantFrom('unknown', 'limit[]', '__proto__', '') },
    )
    .chain((name) => inAddress(stringFor(name)).map((value) => `${name}=${value}`));
  return fc
    .array(pair, { maxLength: names.length > 0 ? 3 : 1 })
    .map((pairs) => (pairs.length > 0 ? `?${pairs.join('&')}` : ''));
}

function bodyOf(schema: Json): fc.Arbitrary<string | undefined> {
  const object = objectOf(schema);
  const text = object.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 12, arbitrary: text.map(bytesOf) },
    { weight: 2, arbitrary: garbled(text) },
    { weight: 1, arbitrary: anyJson.map((value) => bytesOf(JSON.stringify(value))) },
    { weight: 1, arbitrary: fc.constant(undefined) },
    // Members are repeated; the second value counts.
    {
      weight: 1,
      arbitrary: fc.tuple(text, text).map(([a, b]) => bytesOf(`${a.slice(0, -1)},${b.slice(1)}`.replace('{,', '{'))),
    },
    { weight: 1, arbitrary: naughty.map(bytesOf) },
  );
}

function objectOf(schema: Json): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries<Json>(schema.properties ?? {}).map(([name, field]) => [
    name,
    fc.oneof({ weight: 16, arbitrary: fieldOf(name, field) }, { weight: 1, arbitrary: anyJson }),
  ]);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record(Object.fromEntries(fields)) },
    { weight: 2, arbitrary: fc.record({ ...Object.fromEntries(fields), unknown: anyJson }, { requiredKeys: [] }) },
  );
}

const fieldOf = (name: string, field: Json): fc.Arbitrary<unknown> =>
  /(?:^|")array"/.test(JSON.stringify(field.anyOf ?? [field]))
    ? fc.array(stringFor(name), { maxLength: 4 })
    : stringFor(name);

/** Requests of each REST operation: valid, nearly valid and invalid. */
export const restRequests: Readonly<Record<string, fc.Arbitrary<FuzzRequest>>> = Object.fromEntries(
  describedRoutes.map(({ name, method, path, description }) => [name, requestOf(method, path, description)]),
);
