import { expect, test } from 'vitest';
import { openApiDocument } from '../src/rest/openapi/openapi-document.ts';
import type { Json } from './support/client.ts';
import { createFleet, fleetFields } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');

const createText = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { email } } }`;
const updateText = `mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { email } } }`;

/** What both interfaces say of an address, of a new fleet and of one that is changed: itself, or a code. */
async function told(email: string): Promise<unknown[]> {
  const { id } = await createFleet(acme);
  const rest = [
    await acme.post('/fleets', { ...fleetFields, email }),
    await acme.patch(`/fleets/${id}`, { email: 'fleet@acme.example' }),
    await acme.patch(`/fleets/${id}`, { email }),
  ];
  const graphql = [
    await acme.post('/graphql', { query: createText, variables: { input: { ...fleetFields, email } } }),
    await acme.post('/graphql', { query: updateText, variables: { input: { id, email } } }),
  ];
  return [
    ...[rest[0], rest[2]].map((one) => one?.body.email ?? one?.body.errors[0].code),
    ...graphql.map(({ body: { data, errors } }) => {
      const [payload] = Object.values<Json>(data ?? {});
      return payload?.fleet.email ?? errors[0].extensions.errors[0].code;
    }),
  ];
}

test.each([
  ...['müller@bücher.de', 'r&d@acme.example', 'a+b=c@acme.example', "o'neil@acme.example", 'a.b-c_d@acme.example'],
  ...['!#$%*/?^`{|}~@acme.example', '用户@例子.广告', 'пример@пример.рф', 'θσερ@εχαμπλε.ψομ', 'उदाहरण@उदाहरण.भारत'],
  ...['משתמש@דוגמה.ישראל', 'user@xn--e1afmkfd.xn--p1ai', 'me@sub.sub.acme.example', '1@2.example', '😀@acme.example'],
])('%s is an e-mail address', async (email) => {
  expect(await told(email)).toEqual(Array(4).fill(email));
});

test.each([
  ...[
    'nobody',
    '@acme.example',
    'a@',
    'a@b',
    'a@@acme.example',
    'a b@acme.example',
    'a@ac me.example',
    'a@acme..example',
  ],
  ...[
    '.a@acme.example',
    'a.@acme.example',
    'a..b@acme.example',
    'a@-acme.example',
    'a@acme.1',
    'a@1.2.3.4',
    'a@[1.2.3.4]',
  ],
  ...[
    'Ada <a@acme.example>',
    'a@acme.example, b@acme.example',
    'a@acme.example;',
    '"a b"@acme.example',
    'a\u202eb@acme.example',
  ],
  ...['a\nb@acme.example', 'a@acme.example\u0007', `${'x'.repeat(250)}@acme.example`],
])('%s is none', async (email) => {
  for (const code of await told(email)) expect(code).toMatch(/^(?:INVALID_FORMAT|TOO_LARGE)$/);
});

test('the documents do not narrow addresses', async () => {
  const found = JSON.stringify(openApiDocument()).match(/"format":"[^"]*e-?mail[^"]*"/g);
  expect(found).toBeNull();
});
