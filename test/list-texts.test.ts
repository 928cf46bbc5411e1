import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();

test('a list of REST is the text of its items, whatever people have written', async () => {
  const acme = await gateway.as('acme');
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40 })
    .filter((one) => one.isWellFormed() && !one.includes('\0') && one.trim() === one);
  const odd = [
    '"',
    '\\',
    '\\u0041',
    '\u0001\u001f\u007f',
    'ü€😀',
    'a\u2028b',
    '{}',
    '","',
    'x'.repeat(255),
    '😀'.repeat(100),
  ];
  const texts = [...odd, ...fc.sample(name, 20)];
  // Three of them in each.
  const fleets = Array.from({ length: texts.length / 3 }, (_, at) => texts.slice(at * 3, at * 3 + 3));
  for (const [name = '', companyAddress = '', vat = ''] of fleets)
    await createFleet(acme, { name, companyAddress, vat });
  const text = async (path: string) => (await fetch(`${gateway.url}${path}`, { headers: acme.headers })).text();
  const list = await text('/fleets');
  const items = await Promise.all(JSON.parse(list).map(({ id }: { id: string }) => text(`/fleets/${id}`)));
  expect(items).toHaveLength(fleets.length);
  expect(list).toBe(`[${items.join()}]`);
});
