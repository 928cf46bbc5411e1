import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createFleet, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { END, FORM_TYPE, field, part } from './support/raw-form.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const fleet = await createFleet(acme);
const mutation = `mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { import { fileName } } }`;

const shown = async (importId: string) => {
  const query = `query ($id: ID!) { import(id: $id) { fileName } fleet(id: "${fleet.id}") { imports(last: 1) { nodes { fileName } } } }`;
  const { body } = await acme.post('/graphql', { query, variables: { id: importId } });
  const { fileName } = (await acme.get(`/imports/${importId}`)).body;
  expect([body.data.import, ...body.data.fleet.imports.nodes]).toEqual([{ fileName }, { fileName }]);
  return fileName;
};

/** The name that an import has whose file comes with this Content-Disposition: in both forms, and as the body. */
async function named(disposition: string): Promise<(string | null)[]> {
  const sent = async (path: string, body: string, type: string, headers = {}) => {
    const importId = randomUUID();
    const bytes = new Blob([body.replace('IMPORT', importId)]);
    const { status } = await acme.post(path.replace('IMPORT', importId), bytes, { 'content-type': type, ...headers });
    expect([200, 201]).toContain(status);
    return shown(importId);
  };
  const file = (name: string) =>
    part(`Content-Disposition: form-data; name="${name}"; ${disposition}\r\nContent-Type: text/csv`, newVin());
  const operations = { query: mutation, variables: { input: { fleetId: fleet.id, importId: 'IMPORT', file: null } } };
  const form = field('operations', JSON.stringify(operations)) + field('map', '{"0":["variables.input.file"]}');
  // Headers of fetch are bytes, one a character.
  const header = Buffer.from(`attachment; ${disposition}`).toString('latin1');
  return [
    await sent('/vehicles/file?importId=IMPORT', field('fleetId', fleet.id) + file('vins') + END, FORM_TYPE),
    await sent('/vehicles/file?importId=IMPORT', file('vins') + field('fleetId', fleet.id) + END, FORM_TYPE),
    await sent('/graphql', form + file('0') + END, FORM_TYPE),
    await sent(`/vehicles/file?importId=IMPORT&fleetId=${fleet.id}`, newVin(), 'text/csv', {
      'content-disposition': header,
    }),
  ];
}

const alike = (name: string | null) => [name, name, name, name];

test.each([
  ['filename="vins.csv"', 'vins.csv'],
  ['filename=vins.csv', 'vins.csv'],
  ['filename="Überführung März.xlsx"', 'Überführung März.xlsx'],
  ['filename="車両 🚗.csv"', '車両 🚗.csv'],
  ['filename="x.csv"; filename*=UTF-8\'\'%E8%BB%8A%E4%B8%A1.csv', '車両.csv'],
  ["filename*=iso-8859-1'en'%FCber.csv", 'über.csv'],
  ['filename="/home/user/vins.csv"', 'vins.csv'],
  ['filename="../../etc/vins.csv"', 'vins.csv'],
  ["filename*=UTF-8''C%3A%5CUsers%5Cvins.csv", 'vins.csv'],
  ["filename*=UTF-8''a%00b%0Ac%7Fd%C2%85e%E2%80%AEf.csv", 'abcdef.csv'],
  [`filename="${'x'.repeat(300)}.csv"`, 'x'.repeat(255)],
  [`filename="${'x'.repeat(254)}🚗.csv"`, 'x'.repeat(254)],
  ['filename=" vins.csv "', 'vins.csv'],
])('a file with %s is called %s', async (disposition, name) => {
  expect(await named(disposition)).toEqual(alike(name));
});

test.each(['..', '.', 'a/..', String.raw`a\\.`, '.\u200e.'])('filename="%s" is a place and no name', async (name) => {
  const [first, last, graphql] = await named(`filename="${name}"`);
  expect([first, last, graphql]).toEqual([null, null, null]);
});

test('a path of Windows is no part of a name in a form, where its backslashes stand alone', async () => {
  const [first, last, graphql] = await named('filename="C:\\Users\\me\\vins.csv"');
  expect([first, last, graphql]).toEqual(['vins.csv', 'vins.csv', 'vins.csv']);
});

test('a body without a name, or with one that cannot be read, has none', async () => {
  for (const disposition of [
    undefined,
    'attachment',
    'filename=',
    'attachment; filename="',
    'attachment; filename="/"',
    'attachment; filename=".."',
    'attachment; filename=" . "',
    'attachment; filename="vins/.."',
    "attachment; filename*=UTF-8''%E2%80%8E..",
  ]) {
    const importId = randomUUID();
    const headers = { 'content-type': 'text/csv', ...(disposition && { 'content-disposition': disposition }) };
    await acme.post(`/vehicles/file?fleetId=${fleet.id}&importId=${importId}`, newVin(), headers);
    expect(await shown(importId)).toBeNull();
  }
});

test('the event of a file names it, and an upload that begins again has the newer name', async () => {
  const importId = randomUUID();
  const send = (name: string, text: string) =>
    acme.post(`/vehicles/file?fleetId=${fleet.id}&importId=${importId}`, text, {
      'content-type': 'text/csv',
      'content-disposition': `attachment; filename="${name}"`,
    });
  expect((await send('wrong.csv', 'SHORT')).status).toBe(400);
  expect(await shown(importId)).toBe('wrong.csv');
  const text = `vin\n${newVin()}\n`;
  expect((await send('right.csv', text)).status).toBe(201);
  expect((await send('again.csv', text)).status).toBe(201);
  expect(await shown(importId)).toBe('right.csv');
  const recorded = await gateway.execute(
    `select data->>'fileName' as name from event where type = 'import.completed' and data->>'importId' = '${importId}'`,
  );
  expect(recorded).toEqual([{ name: 'right.csv' }]);
});
