import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { createFleet, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ settings: { LIMIT_FILE_BYTES: '100000' } });
const acme = await gateway.as('acme');

const query = `mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) {
  fleet { id vehicleCount } import { id state received created existing rejected: rejectedCount startedAt finishedAt fleet { id vehicleCount } }
  summary { received created existing rejected } rejected { row value code message } } }`;
const NONE = { file: null };

/** A form of the GraphQL multipart request specification. */
function formOf(input: Json, file: Blob | undefined, name = 'vins.csv', text = query): FormData {
  const form = new FormData();
  form.append('operations', JSON.stringify({ query: text, variables: { input: { ...NONE, ...input } } }));
  form.append('map', JSON.stringify({ 0: ['variables.input.file'] }));
  if (file) form.append('0', file, name);
  return form;
}

const csv = (text: string, type = 'text/csv') => new Blob([text], { type });
const upload = (input: Json, file: Blob | undefined, headers = {}, client: Client = acme) =>
  client.post('/graphql', formOf(input, file), headers);
const codesOf = ({ body }: { body: Json }) => body.errors?.map((error: Json) => error.extensions.code);
const countOf = async (fleet: Json) => (await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount;

test('importVehicles adds the vehicles of a file and reports every refused row', async () => {
  const fleet = await createFleet(acme);
  const { body } = await upload({ fleetId: fleet.id }, csv(`vin\n${newVins(3).join('\n')}\nSHORT\n`));
  expect(body.errors).toBeUndefined();
  const { import: run, summary, rejected, fleet: changed } = body.data.importVehicles;
  expect(changed).toEqual({ id: fleet.id, vehicleCount: 3 });
  expect(run).toMatchObject({ state: 'COMPLETED', ...summary, fleet: { id: fleet.id, vehicleCount: 3 } });
  expect(summary).toEqual({ received: 4, created: 3, existing: 0, rejected: 1 });
  expect(rejected).toEqual([{ row: 5, value: 'SHORT', code: 'VIN_INVALID_LENGTH', message: expect.any(String) }]);
  const again = await acme.post('/graphql', {
    query: 'query ($id: ID!) { import(id: $id) { id state received fleet { id } } }',
    variables: { id: run.id },
  });
  expect(again.body.data.import).toEqual({ id: run.id, state: 'COMPLETED', received: 4, fleet: { id: fleet.id } });
  expect(await acme.get(`/imports/${run.id}`)).toMatchObject({ status: 200, body: { id: run.id, created: 3 } });
});

test('the imports of a fleet are a list, oldest first with any ids', async () => {
  const fleet = await createFleet(acme);
  const ids = ['ffffffff-0000-4000-8000-', '88888888-0000-4000-8000-', '00000000-0000-4000-8000-'].map(
    (id) => `${id}${randomUUID().slice(-12)}`,
  );
  for (const importId of ids) await upload({ fleetId: fleet.id, importId }, csv(newVin()));
  const list = async (page: string, id = fleet.id, client: Client = acme) => {
    const document = `query ($id: ID!) { fleet(id: $id) { imports(${page}) {
      totalCount pageInfo { hasNextPage hasPreviousPage endCursor startCursor } nodes { id state created } } } }`;
    const { data, errors } = (await client.post('/graphql', { query: document, variables: { id } })).body;
    return errors ? errors[0].extensions : data.fleet?.imports;
  };
  const whole = await list('first: 10');
  expect(whole.totalCount).toBe(3);
  expect(whole.nodes).toEqual(ids.map((id) => ({ id, state: 'COMPLETED', created: 1 })));
  const first = await list('first: 1');
  expect(first).toMatchObject({ nodes: [{ id: ids[0] }], pageInfo: { hasNextPage: true } });
  const rest = await list(`first: 2, after: "${first.pageInfo.endCursor}"`);
  expect(rest).toMatchObject({ nodes: [{ id: ids[1] }, { id: ids[2] }], pageInfo: { hasNextPage: false } });
  const last = await list('last: 1');
  expect(last).toMatchObject({ nodes: [{ id: ids[2] }], pageInfo: { hasPreviousPage: true } });
  expect(await list(`last: 5, before: "${last.pageInfo.startCursor}"`)).toMatchObject({
    nodes: [{ id: ids[0] }, { id: ids[1] }],
  });
  const globex = await gateway.as('globex');
  const theirs = await createFleet(globex);
  // A cursor of another company's list is unknown in the own list.
  const foreign = await list(`first: 5, after: "${first.pageInfo.endCursor}"`, theirs.id, globex);
  expect(foreign).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'after', code: 'INVALID_CURSOR' }] });
});

test('the rejected rows of an import are a list, in the order of the file', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const rejections =
    'rejectedCount rejected(first: 2, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { row value code message } }';
  const text = `mutation ($input: ImportVehiclesInput!, $after: String) { importVehicles(input: $input) { import { ${rejections} } } }`;
  const file = csv(`vin\nSHORT\n${newVin()}\nO${newVin().slice(1)}\nLONGER\n`);
  const { body } = await acme.post('/graphql', formOf({ fleetId: fleet.id, importId }, file, 'vins.csv', text));
  const { import: first } = body.data.importVehicles;
  expect(first).toMatchObject({ rejectedCount: 3, rejected: { totalCount: 3, pageInfo: { hasNextPage: true } } });
  await gateway.execute(`update import_rejection set code = 'NEW_IN_2030' where import_id = '${importId}' and row = 5`);
  const after = first.rejected.pageInfo.endCursor;
  const list = (client: Client, query: string) =>
    client.post('/graphql', { query, variables: { id: importId, after } });
  const query = `query ($id: ID!, $after: String) { import(id: $id) { ${rejections} } }`;
  const { rejected } = (await list(acme, query)).body.data.import;
  expect(rejected.pageInfo.hasNextPage).toBe(false);
  expect([...first.rejected.nodes, ...rejected.nodes].map(({ row, value, code }) => [row, value.length, code])).toEqual(
    [
      [2, 5, 'VIN_INVALID_LENGTH'],
      [4, 17, 'VIN_INVALID_CHARACTER'],
      [5, 6, 'OTHER'],
    ],
  );
  const progress = query.replace('query', 'subscription').replace('import(id', 'importProgress(importId');
  const sse = { accept: 'text/event-stream' };
  const stream = await acme.post('/graphql', { query: progress, variables: { id: importId, after } }, sse);
  expect(stream.body).toContain(JSON.stringify(rejected));
  expect(codesOf(await list(await gateway.as('globex'), query))).toEqual(['IMPORT_NOT_FOUND']);
});

test('mode ATOMIC and dryRun store nothing', async () => {
  const fleet = await createFleet(acme);
  const file = csv(`${newVin()}\nSHORT\n`);
  const refused = await upload({ fleetId: fleet.id, mode: 'ATOMIC' }, file);
  expect(codesOf(refused)).toEqual(['VALIDATION_FAILED']);
  expect(refused.body.errors[0].extensions).toMatchObject({
    importId: expect.any(String),
    errors: [{ path: 'row 2', code: 'VIN_INVALID_LENGTH' }],
  });
  const dry = await upload({ fleetId: fleet.id, dryRun: true }, file);
  expect(dry.body.data.importVehicles.summary).toMatchObject({ received: 2, created: 1, rejected: 1 });
  expect(await countOf(fleet)).toBe(0);
});

test('rows that are all rejected are in the payload of a failed import, but in the error of the mode ATOMIC', async () => {
  const fleet = await createFleet(acme);
  const file = csv('vin\nSHORT\nLONGER\n');
  const key = { 'idempotency-key': randomUUID() };
  for (const replayed of [null, 'true']) {
    const { body, headers } = await upload({ fleetId: fleet.id }, file, key);
    expect(body.errors).toBeUndefined();
    expect(body.data.importVehicles).toMatchObject({
      fleet: { id: fleet.id, vehicleCount: 0 },
      import: { state: 'FAILED', received: 2, created: 0, rejected: 2 },
      summary: { received: 2, created: 0, existing: 0, rejected: 2 },
      rejected: [
        { row: 2, value: 'SHORT', code: 'VIN_INVALID_LENGTH' },
        { row: 3, value: 'LONGER', code: 'VIN_INVALID_LENGTH' },
      ],
    });
    expect(headers.get('idempotent-replayed')).toBe(replayed);
  }
  const atomic = await upload({ fleetId: fleet.id, mode: 'ATOMIC' }, file);
  expect(atomic.body.errors[0]).toMatchObject({
    message: 'Every row was rejected (2).',
    extensions: { code: 'VALIDATION_FAILED', rejected: [{ row: 2 }, { row: 3 }] },
  });
  expect(
    await acme.post(`/vehicles/file?fleetId=${fleet.id}`, 'vin\nSHORT\n', { 'content-type': 'text/csv' }),
  ).toMatchObject({
    status: 400,
    body: {
      code: 'VALIDATION_FAILED',
      detail: 'Every row was rejected (1).',
      rejected: [{ row: 2 }],
      rejectedCsv: expect.any(String),
    },
  });
});

test('an importId makes a second upload safe, as an Idempotency-Key does', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const file = csv(`${newVin()}\n`);
  const first = await upload({ fleetId: fleet.id, importId }, file);
  expect(first.body.data.importVehicles.import).toMatchObject({ id: importId, created: 1 });
  expect((await upload({ fleetId: fleet.id, importId }, file)).body.data).toEqual(first.body.data);
  expect(codesOf(await upload({ fleetId: fleet.id, importId }, csv(newVin())))).toEqual(['IDEMPOTENCY_KEY_REUSED']);
  const key = { 'idempotency-key': randomUUID() };
  const other = csv(`${newVin()}\n`);
  const keyed = await upload({ fleetId: fleet.id }, other, key);
  const { id } = keyed.body.data.importVehicles.import;
  const again = await upload({ fleetId: fleet.id }, other, key);
  expect(again.body.data.importVehicles.import.id).toBe(id);
  expect([keyed, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
  expect(await countOf(fleet)).toBe(2);
});

test('a file over the limit is refused with the limit, and not stored', async () => {
  const fleet = await createFleet(acme);
  const line = `${newVin()}\n`;
  for (const size of [100_001, 1_000_000]) {
    const file = csv(line.repeat(Math.ceil(size / line.length)).slice(0, size));
    const answer = await upload({ fleetId: fleet.id }, file);
    expect(codesOf(answer)).toEqual(['PAYLOAD_TOO_LARGE']);
    expect(answer.body.errors[0].message).toContain('100,000');
  }
  expect(await countOf(fleet)).toBe(0);
  const fits = csv(`${line.repeat(5555)}${' '.repeat(99_999 - 5555 * line.length)}\n`);
  expect((await upload({ fleetId: fleet.id }, fits)).body.errors).toBeUndefined();
});

test('a file that is no CSV is refused by its type or content', async () => {
  const { id: fleetId } = await createFleet(acme);
  expect(codesOf(await upload({ fleetId }, csv(newVin(), 'image/png')))).toEqual(['UNSUPPORTED_MEDIA_TYPE']);
  expect(codesOf(await upload({ fleetId }, csv('%PDF-1.7', 'text/csv')))).toEqual(['UNSUPPORTED_MEDIA_TYPE']);
  expect((await upload({ fleetId }, csv(newVin(), 'application/vnd.ms-excel'))).body.errors).toBeUndefined();
});

/** Sends a form with a large file up to `share` of its bytes, and never the rest. */
async function begin(form: FormData, share = 0.5) {
  const whole = new Response(form);
  const bytes = Buffer.from(await whole.arrayBuffer());
  const headers = { 'content-type': whole.headers.get('content-type') ?? '', 'content-length': bytes.length };
  const sending = request(`${gateway.url}/graphql`, { method: 'POST', headers: { ...acme.headers, ...headers } });
  sending.on('error', () => {});
  sending.write(bytes.subarray(0, bytes.length * share));
  return sending;
}

test('an error does not wait for the end of the file', async () => {
  const big = csv(`${newVin()}\n`.repeat(5000));
  const refused = async (form: FormData) => {
    const sending = await begin(form);
    const [response] = await once(sending, 'response');
    const body = JSON.parse((await response.toArray()).join(''));
    sending.destroy();
    return codesOf({ body });
  };
  expect(await refused(formOf({ fleetId: 'nothing' }, big))).toEqual(['FLEET_NOT_FOUND']);
  expect(await refused(formOf({}, big))).toEqual(['VALIDATION_FAILED']);
  expect(await refused(formOf({ fleetId: 'x', importId: 'x' }, big))).toEqual(['VALIDATION_FAILED']);
  expect(await refused(formOf({}, big, 'x', '{ nothing }'))).toEqual(['GRAPHQL_VALIDATION_FAILED']);
});

test('a file without a token is refused', async () => {
  const big = csv(`${newVin()}\n`.repeat(5000));
  const answer = await upload({ fleetId: 'x' }, big, { 'apollo-require-preflight': '1' }, gateway.anyone);
  expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 401, codes: ['UNAUTHENTICATED'] });
});

test('a file for another company’s fleet is refused', async () => {
  const fleet = await createFleet(acme);
  const globex = await gateway.as('globex');
  expect(codesOf(await upload({ fleetId: fleet.id }, csv(newVin()), {}, globex))).toEqual(['FLEET_NOT_FOUND']);
});

test('a torn or invalid form is refused', async () => {
  const fleet = await createFleet(acme);
  const fleetId = fleet.id;
  expect(codesOf(await upload({ fleetId }, undefined))).toEqual(['VALIDATION_FAILED']);
  const type = { 'content-type': 'multipart/form-data; boundary=x' };
  const part = (name: string, text: string) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const operations = part('operations', JSON.stringify({ query, variables: { input: { fleetId, file: null } } }));
  const map = part('map', '{"0":["variables.input.file"]}');
  const file = '--x\r\nContent-Disposition: form-data; name="0"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n';
  const torn: Record<string, string> = {
    'no parts': '--x--\r\n',
    'nothing at all': '',
    'no operations': `${map}--x--\r\n`,
    'operations that are no JSON': `${part('operations', '{')}--x--\r\n`,
    'empty operations': `${part('operations', '{}')}${part('map', '{}')}--x--\r\n`,
    'what looks like a promise': `${part('operations', '{"then":{}}')}${part('map', '{}')}--x--\r\n`,
    'a batch': `${part('operations', '[{"query":"{ __typename }"}]')}${part('map', '{}')}--x--\r\n`,
    'a map that leads nowhere': `${operations}${part('map', '{"0":["variables.nothing.file"]}')}--x--\r\n`,
    'a map into the prototype': `${operations}${part('map', '{"0":["__proto__.file"]}')}--x--\r\n`,
    'a file before its map': `${operations}${file}${newVin()}\r\n--x--\r\n`,
    'an end in mid-file': `${operations}${map}${file}${newVin()}\n${newVin()}`,
    'a header that is none': `${operations}${map}--x\r\nnonsense\r\n\r\n`,
  };
  for (const [name, body] of Object.entries(torn)) {
    const answer = await acme.post('/graphql', body, type);
    expect({ name, codes: codesOf(answer) }).toEqual({
      name,
      codes: [expect.stringMatching(/^(VALIDATION_FAILED|MALFORMED_JSON)$/)],
    });
  }
  expect(await acme.post('/graphql', 'x', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 });
  expect(await countOf(fleet)).toBe(0);
});

test('a file has a place among the members of its operation, and nowhere else', async () => {
  const fleet = await createFleet(acme);
  const places = [
    'variables.hasOwnProperty.set',
    'variables.input.fleetId.at.set',
    'variables.list.push.set',
    'query.at.set',
    'toString.set',
    // Lists are read from their beginning to their end.
    'variables.list.4294967294',
    'variables.list.length',
    'variables..file',
    '',
  ];
  for (const place of places) {
    const form = new FormData();
    const variables = { input: { fleetId: fleet.id, file: null }, list: [] };
    form.append('operations', JSON.stringify({ query, variables }));
    // The last is no path, which is said only after those before it are taken.
    form.append('map', JSON.stringify({ 0: ['variables.input.file', place, 0, null, { toString: 0 }] }));
    form.append('0', csv(newVin()), 'vins.csv');
    const answer = await acme.post('/graphql', form);
    const codes = codesOf(answer);
    expect({ place, status: answer.status, codes }).toEqual({ place, status: 400, codes: ['VALIDATION_FAILED'] });
  }
  const shared: object[] = [Object.prototype.hasOwnProperty, Object.prototype.toString, ''.at, [].push];
  expect(shared.filter((one) => 'set' in one)).toEqual([]);
  expect(await countOf(fleet)).toBe(0);
});

test('a path as deep as operations may be is followed to its end', async () => {
  const levels = 100_000;
  const form = new FormData();
  form.append('operations', `{"query":"{ __typename }","variables":${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}}`);
  form.append('map', JSON.stringify({ 0: [`variables${'.a'.repeat(levels)}.b.c`] }));
  form.append('0', csv(newVin()), 'vins.csv');
  const answer = await acme.post('/graphql', form);
  expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 400, codes: ['VALIDATION_FAILED'] });
});

test('a client that disconnects during an upload leaves the fleet unchanged', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const sending = await begin(formOf({ fleetId: fleet.id, importId }, csv(`${newVins(500).join('\n')}\n`)));
  const gone = new Promise((resolve) => sending.once('close', resolve));
  const stateOf = async () => (await acme.get(`/imports/${importId}`)).body.state;
  await expect.poll(stateOf).toBe('RUNNING');
  sending.destroy();
  await gone;
  await expect.poll(stateOf).toBe('FAILED');
  expect(await countOf(fleet)).toBe(0);
});
