import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const text = async (path: string) => (await fetch(`${gateway.url}${path}`, { headers: acme.headers })).text();

/** The text of the list of fleets, and the joined texts of its items, which PostgreSQL writes. */
async function fleetsTwice() {
  const list = await text('/fleets');
  const items = await Promise.all(JSON.parse(list).map(({ id }: { id: string }) => text(`/fleets/${id}`)));
  return { list, items };
}

test('a REST list is the text of its items, for any text', async () => {
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
  // Each fleet has three of the texts.
  const fleets = Array.from({ length: texts.length / 3 }, (_, at) => texts.slice(at * 3, at * 3 + 3));
  for (const [name = '', companyAddress = '', vat = ''] of fleets)
    await createFleet(acme, { name, companyAddress, vat });
  const { list, items } = await fleetsTwice();
  expect(items).toHaveLength(fleets.length);
  expect(list).toBe(`[${items.join()}]`);
});

test('times of a list equal those of its items, truncated to milliseconds', async () => {
  const places = ['.999999', '.9995', '.12', '.001', '.000999', ''].map(
    (fraction) => `2026-03-29 01:59:59${fraction}Z`,
  );
  const times = [...places, '0001-01-01 00:00:00Z', '1969-12-31 23:59:59.9999Z', '9999-12-31 23:59:59.999Z'];
  for (const time of times) {
    const { id } = await createFleet(acme);
    await gateway.execute(`update fleet set created_at = '${time}', updated_at = '${time}' where id = '${id}'`);
  }
  const { list, items } = await fleetsTwice();
  expect(list).toBe(`[${items.join()}]`);
  expect(list).toContain('"updatedAt":"2026-03-29T01:59:59.999Z"');
  expect(list).toContain('"updatedAt":"1969-12-31T23:59:59.999Z"');
});
