import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { coerceInputValue, type GraphQLArgument } from 'graphql';
import { expect, test } from 'vitest';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';
import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import { routes } from '../../src/rest/router.ts';
import type { Json } from '../support/client.ts';

const { paths }: Json = openApiDocument();

test('every mutation has an example of variables that it takes, and REST’s body has the same values', () => {
  const bodies: Json[] = [];
  for (const { name, args, description = '' } of Object.values(graphqlSchema.getMutationType()?.getFields() ?? {})) {
    const [, json = '{}'] = /Example of variables: `(.*)`\. Scope: /.exec(description ?? '') ?? [];
    const { input } = JSON.parse(json);
    // The specification of multipart requests has null where the file belongs, which no type takes.
    if (input.file !== null) expect(coerceInputValue(input, (args[0] as GraphQLArgument).type), name).toBeDefined();
    const { path = '', method = '' } = routes.find(({ operationId }) => operationId === name) ?? {};
    const body =
      paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()].requestBody?.content['application/json']
        ?.example;
    if (!body) continue;
    bodies.push(body);
    // GraphQL names the types of events otherwise.
    expect({ ...input, ...(body.types && { types: body.types }) }, name).toEqual({ ...input, ...body });
  }
  expect(bodies.length).toBeGreaterThan(10);
});

test('the reference shows the example of each body', () => {
  const masked = (text: string) => text.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|'\$[A-Z_]+'/g, '…');
  const reference = readFileSync(join(import.meta.dirname, '../../docs/reference.md'), 'utf8');
  const examples = [...reference.matchAll(/^curl .*?(?:-X (\w+) )?--json '(\{.*\})' "?\$G(\/[^\s"]+)/gm)].map(
    ([, method = 'POST', body = '', path = '']) => ({ method, path, body: JSON.parse(masked(body)) }),
  );
  // The shell of that page has no receiver of webhooks.
  const shown = (body: Json) =>
    JSON.parse(masked(JSON.stringify(body)).replace('//example.com/', '//receiver.invalid/'));
  for (const { method, path, body } of examples) {
    const operation = paths[path.replaceAll(/\$\w+/g, '{id}')] ?? paths[path.replace('$FLEET', '{fleetId}')];
    const { operationId, requestBody } = operation[method.toLowerCase()];
    if (operationId.endsWith('ByPost')) continue;
    expect({ operationId, body }).toEqual({
      operationId,
      body: shown(requestBody.content['application/json'].example),
    });
  }
  expect(examples.length).toBeGreaterThan(13);
});
