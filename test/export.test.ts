import fc from 'fast-check';
import { parseString } from 'fast-csv';
import { describe, expect, test } from 'vitest';
import { type Client, type Json, nextOf } from './support/client.ts';
import { addVehicles, createFleet, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const CSV = { accept: 'text/csv' };
const NDJSON = { accept: 'application/x-ndjson' };
const header = 'vin,fleet_id,fleet_name,manufacturer,status,eligible,reason_code,reason,actor,verified_at,created_at';

/** Rows by an independent CSV reader. */
const rowsOf = (text: string): Promise<Json[]> =>
  new Promise((resolve, reject) => {
    const rows: Json[] = [];
    parseString(text.replace('\ufeff', ''), { headers: true })
      .on('data', (row) => rows.push(row))
      .on('error', reject)
      .on('end', () => resolve(rows));
  });
const linesOf = (text: string | null): Json[] =>
  (text ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
/** The CSV row of a REST vehicle. */
const asRow = (vehicle: Json, names: ReadonlyMap<string, string>, reason: Json = null) => ({
  vin: vehicle.vin,
  fleet_id: vehicle.fleetId,
  fleet_name: names.get(vehicle.fleetId),
  manufacturer: vehicle.manufacturer ?? '',
  status: vehicle.eligibility.status,
  eligible: vehicle.eligibility.eligible === null ? '' : String(vehicle.eligibility.eligible),
  reason_code: reason?.code ?? '',
  reason: reason?.message ?? '',
  actor: reason?.actor ?? '',
  verified_at: vehicle.eligibility.verifiedAt ?? '',
  created_at: vehicle.createdAt,
});

/** Makes two fleets with vehicles of every status. */
async function makeCompany(company: string): Promise<{ client: Client; fleets: Json[]; names: Map<string, string> }> {
  const client = await gateway.as(company);
  const fleets = [await createFleet(client, { name: 'Süd, "Köln"' }), await createFleet(client, { name: '=1+1' })];
  const vins = [newVin(), newVin(), newVin(), newVin(0, 'ZFF'), newVin(0, 'XYZ')];
  const vehicles = await addVehicles(client, vins, fleets[0]);
  await addVehicles(client, newVins(3), fleets[1]);
  const states = [
    `status = 'ELIGIBLE', verified_at = '2026-11-20T08:00:02.0049Z'`,
    `status = 'INELIGIBLE', verified_at = now(), reason = '{"code": "NOT_ELIGIBLE", "message": "No, \\"never\\".", "actor": "MANUFACTURER", "retryable": false}'`,
    `status = 'FAILED', verified_at = now(), reason = '{"code": "VIN_REFUSED", "message": "@ask", "actor": "CUSTOMER", "retryable": true}'`,
  ];
  for (const [at, state] of states.entries())
    await gateway.execute(`update vehicle set ${state} where id = '${vehicles[at].id}'`);
  return {
    client,
    fleets,
    names: new Map([
      [fleets[0].id, 'Süd, "Köln"'],
      [fleets[1].id, "'=1+1"],
    ]),
  };
}
const acme = await makeCompany('acme');
const [first, second] = acme.fleets;
const reasonOf = async (vin: string): Promise<Json> => {
  const query = 'query ($vin: String!) { eligibility(vin: $vin) { reason { code message actor retryable } } }';
  return (await acme.client.post('/graphql', { query, variables: { vin } })).body.data.eligibility.reason;
};

describe.each([
  ['GET /fleets/{fleetId}/vehicles', `/fleets/${first.id}/vehicles`, 5],
  ['GET /vehicles', '/vehicles', 8],
])('%s', (_, path, count) => {
  test('as text/csv has the JSON list in its order, with reasons', async () => {
    const { body: list } = await acme.client.get(path);
    const { status, headers, body } = await acme.client.get(path, CSV);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers.get('content-disposition')).toBe('attachment; filename="vehicles.csv"');
    const response = await fetch(new URL(path, gateway.url), { headers: { ...acme.client.headers, ...CSV } });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.toString('latin1', 0, 3)).toBe('\xef\xbb\xbf');
    expect(bytes.toString('utf8', 3).split('\n')[0]).toBe(header);
    const wanted = await Promise.all(
      list.map(async (vehicle: Json) => {
        const reason = await reasonOf(vehicle.vin);
        return asRow(vehicle, acme.names, reason && { ...reason, message: reason.message.replace(/^@/, "'@") });
      }),
    );
    expect(await rowsOf(body)).toEqual(wanted);
    expect(wanted).toHaveLength(count);
  });

  test('as application/x-ndjson is a vehicle a line, with the reason', async () => {
    const { body: list } = await acme.client.get(path);
    const { headers, body } = await acme.client.get(path, NDJSON);
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(headers.get('content-disposition')).toBe('attachment; filename="vehicles.ndjson"');
    expect(linesOf(body)).toEqual(
      await Promise.all(
        list.map(async (one: Json) => ({
          ...one,
          eligibility: { ...one.eligibility, reason: await reasonOf(one.vin) },
        })),
      ),
    );
  });

  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/html, image/png', 'application/json'],
    ['application/json, text/csv', 'application/json'],
    ['text/csv;q=0.5, application/json;q=0.4', 'text/csv'],
    ['text/csv, */*', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv;q=0, */*', 'application/json'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['TEXT/CSV; header=present', 'text/csv'],
    ['nonsense', 'application/json'],
  ])('Accept: %s is answered as %s', async (accept, type) => {
    const { status, headers } = await acme.client.get(path, accept ? { accept } : {});
    expect([status, headers.get('content-type')?.split(';')[0], headers.get('vary')]).toEqual([200, type, 'Accept']);
  });

  test('pages and orders are those of the JSON list', async () => {
    for (const [accept, read] of [
      [CSV, rowsOf],
      [NDJSON, linesOf],
    ] as const) {
      const vins: string[] = [];
      for (let next: string | undefined = `${path}?limit=2&sort=-vin`; next; ) {
        const { headers, body }: Json = await acme.client.get(next, accept);
        const rows = await read(body);
        expect(rows.length).toBeLessThanOrEqual(2);
        vins.push(...rows.map(({ vin }) => vin));
        next = nextOf(headers);
      }
      const { body: list } = await acme.client.get(`${path}?sort=-vin`);
      expect(vins).toEqual(list.map(({ vin }: Json) => vin));
    }
  });

  test('errors are problem documents', async () => {
    expect(await acme.client.get(`${path}?limit=0`, CSV)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
    expect(await gateway.anyone.get(path, CSV)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });
});

test('filters apply to exports', async () => {
  const { body } = await acme.client.get(`/vehicles?eligibility=FAILED&actor=CUSTOMER&fleetId=${first.id}`, CSV);
  expect(await rowsOf(body)).toMatchObject([{ status: 'FAILED', reason_code: 'VIN_REFUSED' }]);
});

test("another company's fleet is 404", async () => {
  const globex = await gateway.as('globex');
  for (const accept of [CSV, NDJSON]) {
    expect(await globex.get(`/fleets/${first.id}/vehicles`, accept)).toMatchObject({ status: 404 });
  }
  expect(linesOf((await globex.get('/vehicles', NDJSON)).body)).toEqual([]);
  expect((await globex.get('/vehicles', CSV)).body.replace('\ufeff', '')).toBe(`${header}\n`);
});

test('an empty fleet is a header in CSV, and empty in NDJSON', async () => {
  const fleet = await createFleet(acme.client);
  expect((await acme.client.get(`/fleets/${fleet.id}/vehicles`, CSV)).body.replace('\ufeff', '')).toBe(`${header}\n`);
  expect((await acme.client.get(`/fleets/${fleet.id}/vehicles`, NDJSON)).body).toBeNull();
});

test('an export can be uploaded: nothing is new to its company, everything to another', async () => {
  const { body: csv } = await acme.client.get(`/fleets/${first.id}/vehicles`, CSV);
  const again = async (client: Client, fleetId: string) =>
    (await client.post(`/vehicles/file?fleetId=${fleetId}`, csv, { 'content-type': 'text/csv' })).body.summary;
  expect(await again(acme.client, first.id)).toEqual({ received: 5, created: 0, existing: 5, rejected: 0 });
  const other = await gateway.as('successor');
  const fleet = await createFleet(other);
  expect(await again(other, fleet.id)).toEqual({ received: 5, created: 5, existing: 0, rejected: 0 });
  const { body: copy } = await other.get(`/fleets/${fleet.id}/vehicles?sort=vin`, CSV);
  const { body: sorted } = await acme.client.get(`/fleets/${first.id}/vehicles?sort=vin`, CSV);
  const vins = async (text: string) => (await rowsOf(text)).map(({ vin, manufacturer }) => [vin, manufacturer]);
  expect(await vins(copy)).toEqual(await vins(sorted));
});

test("no fleet's name becomes a formula or breaks its line", async () => {
  const client = await gateway.as('names');
  const name = fc.string({ unit: fc.constantFrom(...'=+-@,;"\t\n\r x\u00e4|＝'), minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(name, async (text) => {
      const made = await client.post('/fleets', { name: text, companyAddress: 'a', email: 'a@b.example', vat: 'v' });
      fc.pre(made.status === 201);
      const [{ vin }] = await addVehicles(client, newVins(1), made.body);
      const { body } = await client.get(`/fleets/${made.body.id}/vehicles`, CSV);
      const rows = await rowsOf(body);
      expect(rows).toMatchObject([{ vin, status: 'PENDING' }]);
      expect(rows[0].fleet_name).not.toMatch(/^[=+\-@\t\r\n＝]/);
      expect(rows[0].fleet_name.replaceAll("'", '')).toBe(made.body.name.replaceAll("'", ''));
    }),
    { numRuns: 40 },
  );
});

test('a fleet of thousands is sent completely, each vehicle once', async () => {
  const fleet = await createFleet(acme.client);
  const vins = newVins(2_500);
  await addVehicles(acme.client, vins, fleet);
  const path = `/fleets/${fleet.id}/vehicles`;
  const csv = await rowsOf((await acme.client.get(path, CSV)).body);
  expect(csv.map(({ vin }) => vin).toSorted()).toEqual(vins.toSorted());
  const lines = linesOf((await acme.client.get(path, NDJSON)).body);
  expect(lines.map(({ vin }) => vin)).toEqual(csv.map(({ vin }) => vin));
  expect((await acme.client.get(path)).body.map(({ vin }: Json) => vin)).toEqual(csv.map(({ vin }) => vin));
  // Unlimited lists contain every row, including those of the second fleet.
  expect((await rowsOf((await acme.client.get(`/vehicles?fleetId=${second.id}`, CSV)).body)).length).toBe(3);
});
