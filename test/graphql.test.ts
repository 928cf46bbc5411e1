import { describe, expect, test, vi } from 'vitest';
import type { Client, Json } from './support/client.ts';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  newVins,
  unknownId,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

/** The data of an operation, and its error codes (sorted, as their order is random). */
async function ask(client: Client, query: string, variables: Json = {}): Promise<{ data: Json; codes: string[] }> {
  const { body } = await client.post('/graphql', { query, variables });
  return { data: body.data, codes: (body.errors ?? []).map((error: Json) => error.extensions.code).sort() };
}

/** The data of an operation without errors. */
async function read(client: Client, query: string, variables: Json = {}): Promise<Json> {
  const { data, codes } = await ask(client, query, variables);
  expect(codes).toEqual([]);
  return data;
}

const change = (name: string, fields: string) => {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  return `mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`;
};

const fleetSelection = 'id company name companyAddress email vat vehicleCount createdAt updatedAt';
const createFleetText = change('createFleet', `fleet { ${fleetSelection} }`);

describe('fleets', () => {
  test('createFleet stores a fleet that REST shows', async () => {
    const { createFleet: payload } = await read(acme, createFleetText, { input: { ...fleetFields, name: '  North ' } });
    expect(payload.fleet).toMatchObject({ ...fleetFields, name: 'North', company: 'acme', vehicleCount: 0 });
    expect(await acme.get(`/fleets/${payload.fleet.id}`)).toMatchObject({ status: 200, body: payload.fleet });
  });

  test('every invalid field is named, as in REST', async () => {
    const input = { name: ' ', companyAddress: 'x'.repeat(256), email: 'nobody', vat: 'DE1' };
    const { body: rest } = await acme.post('/fleets', input);
    const { body } = await acme.post('/graphql', { query: createFleetText, variables: { input } });
    const [{ message, path, extensions }] = body.errors;
    expect(body.data).toEqual({ createFleet: null });
    expect(path).toEqual(['createFleet']);
    expect({ message, code: extensions.code, errors: extensions.errors }).toEqual({
      message: rest.detail,
      code: rest.code,
      errors: rest.errors,
    });
  });

  test('values of a wrong type are named by their place, in one error', async () => {
    const { body } = await acme.post('/graphql', {
      query: createFleetText,
      variables: { input: { name: 5, vat: ';' } },
    });
    expect(body).not.toHaveProperty('data');
    expect(body.errors).toHaveLength(1);
    expect(body.errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', requestId: expect.any(String) });
    expect(body.errors[0].extensions.errors.map(({ path, code }: Json) => `${path} ${code}`).sort()).toEqual([
      'companyAddress INVALID_TYPE',
      'email INVALID_TYPE',
      'name INVALID_TYPE',
    ]);
  });

  test('updateFleet changes the named fields only', async () => {
    const { id } = await createFleet(acme);
    const text = change('updateFleet', `fleet { ${fleetSelection} }`);
    const { updateFleet } = await read(acme, text, { input: { id, email: 'new@acme.example' } });
    expect(updateFleet.fleet).toMatchObject({ ...fleetFields, id, email: 'new@acme.example' });
    expect((await ask(acme, text, { input: { id } })).codes).toEqual(['VALIDATION_FAILED']);
    expect((await ask(acme, text, { input: { id, name: null } })).codes).toEqual(['VALIDATION_FAILED']);
    expect((await ask(acme, text, { input: { id: unknownId, name: 'x' } })).codes).toEqual(['FLEET_NOT_FOUND']);
  });

  test('deleteFleet returns the deleted fleet with empty lists', async () => {
    const fleet = await createFleet(acme);
    await addVehicles(acme, newVins(2), fleet);
    const text = change('deleteFleet', 'fleet { id vehicleCount vehicles { nodes { id } } }');
    const { deleteFleet } = await read(acme, text, { input: { id: fleet.id } });
    expect(deleteFleet.fleet).toEqual({ id: fleet.id, vehicleCount: 2, vehicles: { nodes: [] } });
    expect(await ask(acme, text, { input: { id: fleet.id } })).toEqual({
      data: { deleteFleet: null },
      codes: ['FLEET_NOT_FOUND'],
    });
  });

  test('eligibilitySummary counts the vehicles of each status', async () => {
    const fleet = await createFleet(acme);
    await addVehicles(acme, [...newVins(2), newVin(0, 'ZFF')], fleet);
    const text =
      'query ($id: ID!) { fleet(id: $id) { eligibilitySummary { pending eligible ineligible unsupported failed } } }';
    expect((await read(acme, text, { id: fleet.id })).fleet.eligibilitySummary).toEqual({
      pending: 2,
      eligible: 0,
      ineligible: 0,
      unsupported: 1,
      failed: 0,
    });
  });

  test('a filter narrows both the page and the count', async () => {
    const client = await gateway.as('filtering');
    await createFleet(client, { name: 'North 50%', vat: 'DE1' });
    await createFleet(client, { name: 'North', vat: 'DE2' });
    const text = 'query ($filter: FleetFilter) { fleets(filter: $filter) { totalCount nodes { name } } }';
    const names = async (filter: Json) => (await read(client, text, { filter })).fleets;
    expect(await names({ name: 'ORTH 50%' })).toEqual({ totalCount: 1, nodes: [{ name: 'North 50%' }] });
    expect(await names({ vat: 'DE2' })).toEqual({ totalCount: 1, nodes: [{ name: 'North' }] });
    expect(await names(null)).toMatchObject({ totalCount: 2 });
  });
});

describe('vehicles', () => {
  const addText = change(
    'addVehicles',
    `summary { received created existing rejected }
     vehicles { id vin warnings createdAt manufacturer { id name provider supported wmis } fleet { id }
       eligibility { vin status eligible dataDelivery connectivityStatus primaryUserAssigned attempts verifiedAt nextAttemptAt
         manufacturer { id } reason { code message actor retryable } } }
     rejected { index value code message }`,
  );

  test('addVehicles reports the outcome of each VIN', async () => {
    const fleet = await createFleet(acme);
    const [vin = '', there = ''] = newVins(2);
    await addVehicles(acme, [there], fleet);
    const input = { fleetId: fleet.id, vins: [vin.toLowerCase(), there, 'SHORT', newVin(0, 'ZFF')] };
    const { addVehicles: payload } = await read(acme, addText, { input });
    expect(payload.summary).toEqual({ received: 4, created: 2, existing: 1, rejected: 1 });
    expect(payload.rejected).toEqual([
      { index: 2, value: 'SHORT', code: 'VIN_INVALID_LENGTH', message: expect.any(String) },
    ]);
    expect(payload.vehicles).toHaveLength(3);
    expect(payload.vehicles[0]).toMatchObject({
      vin,
      fleet: { id: fleet.id },
      manufacturer: { id: 'bmw', name: 'BMW', provider: 'sandbox', supported: true },
      eligibility: {
        vin,
        status: 'PENDING',
        eligible: null,
        dataDelivery: [],
        attempts: 0,
        manufacturer: { id: 'bmw' },
      },
    });
    expect(payload.vehicles[2].eligibility.status).toBe('UNSUPPORTED');
  });

  test('mode ATOMIC stores nothing if a VIN is refused, and names it', async () => {
    const fleet = await createFleet(acme);
    const input = { fleetId: fleet.id, vins: [newVin(), 'SHORT'], mode: 'ATOMIC' };
    const { body } = await acme.post('/graphql', { query: addText, variables: { input } });
    expect(body.data).toEqual({ addVehicles: null });
    expect(body.errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ path: 'vins.1', code: 'VIN_INVALID_LENGTH' }],
      summary: { received: 2, created: 0, rejected: 1 },
    });
    expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(0);
  });

  test('a dry run stores nothing', async () => {
    const fleet = await createFleet(acme);
    const { addVehicles: payload } = await read(acme, addText, {
      input: { fleetId: fleet.id, vins: [newVin()], dryRun: true },
    });
    expect(payload).toMatchObject({ summary: { created: 1 }, vehicles: [] });
    expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(0);
  });

  test('errors of the list itself have the same path as in REST', async () => {
    const { id: fleetId } = await createFleet(acme);
    const { body } = await acme.post('/graphql', { query: addText, variables: { input: { fleetId, vins: [] } } });
    const { body: rest } = await acme.post('/vehicles', { fleetId, vins: [] });
    expect(body.errors[0].extensions).toMatchObject({ code: rest.code, errors: rest.errors });
    const wrong = await acme.post('/graphql', {
      query: addText,
      variables: { input: { fleetId, vins: [newVin(), 7] } },
    });
    expect(wrong.body.errors[0].extensions.errors).toMatchObject([{ path: 'vins.1', code: 'INVALID_TYPE' }]);
  });

  test('vehicle finds by id or by VIN, never by both', async () => {
    const { id, vin } = await addVehicle(acme);
    const text = 'query ($by: VehicleBy!) { vehicle(by: $by) { id vin } }';
    expect((await read(acme, text, { by: { id } })).vehicle).toEqual({ id, vin });
    expect((await read(acme, text, { by: { vin: ` ${vin.toLowerCase()} ` } })).vehicle).toEqual({ id, vin });
    expect((await ask(acme, text, { by: { id, vin } })).codes).toEqual(['VALIDATION_FAILED']);
    expect(await ask(acme, text, { by: { vin: newVin() } })).toEqual({
      data: { vehicle: null },
      codes: ['VEHICLE_NOT_FOUND'],
    });
  });

  test('deleteVehicle returns the deleted vehicle', async () => {
    const { id, vin } = await addVehicle(acme);
    const text = change('deleteVehicle', 'vehicle { id vin fleet { vehicleCount } }');
    expect((await read(acme, text, { input: { id } })).deleteVehicle.vehicle).toEqual({
      id,
      vin,
      fleet: { vehicleCount: 0 },
    });
    expect((await ask(acme, text, { input: { id } })).codes).toEqual(['VEHICLE_NOT_FOUND']);
  });

  test('deleteVehicles deletes the union and names missing vehicles', async () => {
    const fleet = await createFleet(acme);
    const [one, two] = await addVehicles(acme, newVins(2), fleet);
    const text = change('deleteVehicles', 'deleted { vehicleId vin } notFound { ids vins }');
    const input = { fleetId: fleet.id, ids: [one.id, unknownId], vins: [two.vin, 'SHORT'] };
    expect((await read(acme, text, { input })).deleteVehicles).toEqual({
      deleted: [one, two].map(({ id, vin }) => ({ vehicleId: id, vin })),
      notFound: { ids: [unknownId], vins: ['SHORT'] },
    });
    expect((await ask(acme, text, { input: { fleetId: fleet.id, ids: [] } })).codes).toEqual(['NOTHING_TO_DELETE']);
    expect((await ask(acme, text, { input: { fleetId: unknownId, ids: ['x'] } })).codes).toEqual(['FLEET_NOT_FOUND']);
  });

  test('a filter by status, maker or beginning of the VIN narrows page and count', async () => {
    const fleet = await createFleet(acme);
    const bmw = newVin();
    const ferrari = newVin(0, 'ZFF');
    await addVehicles(acme, [bmw, ferrari], fleet);
    const text = `query ($id: ID!, $filter: VehicleFilter) {
      fleet(id: $id) { vehicles(filter: $filter) { totalCount nodes { vin } } } }`;
    const found = async (filter: Json) => (await read(acme, text, { id: fleet.id, filter })).fleet.vehicles;
    expect(await found({ eligibility: 'UNSUPPORTED' })).toEqual({ totalCount: 1, nodes: [{ vin: ferrari }] });
    expect(await found({ manufacturer: 'bmw' })).toEqual({ totalCount: 1, nodes: [{ vin: bmw }] });
    expect(await found({ vin: 'zf-f' })).toEqual({ totalCount: 1, nodes: [{ vin: ferrari }] });
    expect(await found({})).toMatchObject({ totalCount: 2 });
    expect((await ask(acme, text, { id: fleet.id, filter: { vin: 'X'.repeat(18) } })).codes).toEqual([
      'VALIDATION_FAILED',
    ]);
  });
});

describe('eligibility', () => {
  test('PENDING and UNSUPPORTED are data, not errors', async () => {
    const text = 'query ($vin: String!) { eligibility(vin: $vin) { vin status eligible reason { code } } }';
    const { vin } = await addVehicle(acme);
    expect((await read(acme, text, { vin })).eligibility).toMatchObject({ vin, status: 'PENDING', eligible: null });
    const ferrari = await addVehicle(acme, newVin(0, 'ZFF'));
    expect((await read(acme, text, { vin: ferrari.vin })).eligibility).toMatchObject({ status: 'UNSUPPORTED' });
    expect((await ask(acme, text, { vin: newVin() })).codes).toEqual(['VEHICLE_NOT_FOUND']);
  });

  test('verifyEligibility returns present eligibilities, in the order of the input', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(3);
    await addVehicles(acme, vins, fleet);
    const text = change('verifyEligibility', 'eligibilities { vin status }');
    const { verifyEligibility } = await read(acme, text, { input: { vins: vins.toReversed() } });
    expect(verifyEligibility.eligibilities).toEqual(vins.toReversed().map((vin) => ({ vin, status: 'PENDING' })));
    expect((await ask(acme, text, { input: { vins: [] } })).codes).toEqual(['VALIDATION_FAILED']);
  });

  test('manufacturers are those of REST', async () => {
    const { manufacturers } = await read(acme, '{ manufacturers { id name provider supported contracts wmis } }');
    expect(manufacturers).toEqual((await acme.get('/manufacturers')).body);
  });
});

test('a reason code that another version stored is OTHER, in every answer', async () => {
  const { vin } = await addVehicle(acme, newVin(9));
  const reasons = 'reason { code message }';
  const shown = async (code: string) => {
    const reason = JSON.stringify({ code, message: 'Why.', actor: 'OPERATOR', retryable: true });
    await gateway.execute(
      `update vehicle set reason = '${reason}', due_at = now() + interval '1 day' where vin = '${vin}'`,
    );
    const { eligibility } = await read(acme, `{ eligibility(vin: "${vin}") { ${reasons} } }`);
    const input = { vins: [vin] };
    const { verifyEligibility } = await read(acme, change('verifyEligibility', `eligibilities { ${reasons} }`), {
      input,
    });
    expect(verifyEligibility.eligibilities).toEqual([eligibility]);
    return eligibility.reason;
  };
  expect(await shown('PROVIDER_BUSY')).toEqual({ code: 'PROVIDER_BUSY', message: 'Why.' });
  expect(await shown('NEW_IN_2030')).toEqual({ code: 'OTHER', message: 'Why.' });
});

describe('contracts', () => {
  const selection = `id company name description vin from to pack status createdAt manufacturer { id }
    fleet { id } vehicle { id eligibility { status } }`;
  const createText = change('createContract', `contract { ${selection} }`);

  test('createContract returns the contract with its fleet and vehicle', async () => {
    const vehicle = await addVehicle(acme);
    const { fleetId, ...fields } = contractFields(vehicle);
    const { createContract: payload } = await read(acme, createText, { input: { fleetId, ...fields } });
    expect(payload.contract).toMatchObject({
      ...fields,
      company: 'acme',
      from: '2030-01-01T00:00:00.000Z',
      to: '2031-01-01T00:00:00.000Z',
      status: 'SCHEDULED',
      manufacturer: { id: 'bmw' },
      fleet: { id: fleetId },
      vehicle: { id: vehicle.id, eligibility: { status: 'PENDING' } },
    });
    const text = `query ($id: ID!) { contract(id: $id) { ${selection} } }`;
    expect((await read(acme, text, { id: payload.contract.id })).contract).toEqual(payload.contract);
  });

  test('times are validated as in REST', async () => {
    const vehicle = await addVehicle(acme);
    for (const wrong of [
      { from: '2030-02-30T00:00:00Z' },
      { to: '2030-01-01T00:00:00' },
      { to: '2029-01-01T00:00:00Z' },
    ]) {
      const input = contractFields(vehicle, wrong);
      const { body: rest } = await acme.post('/contracts', input);
      const { body } = await acme.post('/graphql', { query: createText, variables: { input } });
      expect(body.errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: rest.errors });
    }
  });

  test('an overlap is refused with the ids in conflict, and does not affect the next field', async () => {
    const contract = await createContract(acme);
    const input = contractFields(contract);
    const { body } = await acme.post('/graphql', {
      query: `mutation ($input: CreateContractInput!, $other: CreateContractInput!) {
        first: createContract(input: $input) { contract { id } }
        second: createContract(input: $other) { contract { pack } } }`,
      variables: { input, other: { ...input, pack: 'another' } },
    });
    expect(body.data).toEqual({ first: null, second: { contract: { pack: 'another' } } });
    expect(body.errors).toMatchObject([
      { path: ['first'], extensions: { code: 'CONTRACT_OVERLAP', conflicts: [contract.id] } },
    ]);
  });

  test('deleteContract returns the deleted contract', async () => {
    const { id } = await createContract(acme);
    const text = change('deleteContract', 'contract { id vehicle { vin } }');
    expect((await read(acme, text, { input: { id } })).deleteContract.contract.id).toBe(id);
    expect((await ask(acme, text, { input: { id } })).codes).toEqual(['CONTRACT_NOT_FOUND']);
  });

  test('contracts are listed for the company, the fleet and the vehicle, each with a count', async () => {
    const client = await gateway.as('contracting');
    const vehicle = await addVehicle(client);
    const contract = await createContract(client, vehicle);
    await createContract(client, vehicle, { pack: 'fuel' });
    await createContract(client);
    const list = '{ totalCount nodes { id } }';
    const data = await read(
      client,
      `query ($fleet: ID!, $vehicle: ID!, $filter: ContractFilter) {
        contracts ${list} named: contracts(filter: $filter) ${list}
        fleet(id: $fleet) { contracts ${list} }
        vehicle(by: { id: $vehicle }) { contracts(filter: $filter) ${list} } }`,
      {
        fleet: vehicle.fleetId,
        vehicle: vehicle.id,
        filter: { pack: 'driving-log', vin: vehicle.vin, status: 'SCHEDULED' },
      },
    );
    const one = { totalCount: 1, nodes: [{ id: contract.id }] };
    expect(data).toMatchObject({
      contracts: { totalCount: 3 },
      named: one,
      fleet: { contracts: { totalCount: 2 } },
      vehicle: { contracts: one },
    });
  });
});

test('objects of another company are answered like unknown ones', async () => {
  const vehicle = await addVehicle(acme);
  const contract = await createContract(acme, vehicle);
  const text = `query ($fleet: ID!, $vehicle: ID!, $vin: String!, $contract: ID!) {
    fleet(id: $fleet) { id } byId: vehicle(by: { id: $vehicle }) { id } byVin: vehicle(by: { vin: $vin }) { id }
    eligibility(vin: $vin) { vin } contract(id: $contract) { id } fleets { nodes { id } } contracts { nodes { id } } }`;
  const theirs = { fleet: vehicle.fleetId, vehicle: vehicle.id, vin: vehicle.vin, contract: contract.id };
  const nothing = { fleet: unknownId, vehicle: unknownId, vin: newVin(), contract: unknownId };
  const answer = await ask(globex, text, theirs);
  expect(answer).toEqual(await ask(globex, text, nothing));
  expect(answer.codes).toEqual([
    'CONTRACT_NOT_FOUND',
    'FLEET_NOT_FOUND',
    'VEHICLE_NOT_FOUND',
    'VEHICLE_NOT_FOUND',
    'VEHICLE_NOT_FOUND',
  ]);
});

describe('connections', async () => {
  const client = await gateway.as('paging');
  const fleet = await createFleet(client);
  const vins = newVins(7);
  await addVehicles(client, vins, fleet);
  const text = `query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    fleet(id: $id) { vehicles(first: $first, after: $after, last: $last, before: $before) {
      totalCount edges { cursor node { vin } } nodes { vin }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;
  const page = async (args: Json) => (await read(client, text, { id: fleet.id, ...args })).fleet.vehicles;
  const vinsOf = ({ edges }: Json) => edges.map((edge: Json) => edge.node.vin);
  const all = vinsOf(await page({}));

  test('go forward page by page, oldest first', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    for (const more of [true, true, false]) {
      const { totalCount, pageInfo, ...part } = await page({ first: 3, after });
      expect(totalCount).toBe(7);
      expect(pageInfo).toMatchObject({ hasNextPage: more, hasPreviousPage: after !== null });
      expect(part.nodes).toEqual(part.edges.map((edge: Json) => edge.node));
      expect(pageInfo.endCursor).toBe(part.edges.at(-1).cursor);
      seen.push(...vinsOf(part));
      after = pageInfo.endCursor;
    }
    expect(seen).toEqual(all);
    expect(seen.toSorted()).toEqual(vins.toSorted());
  });

  test('go backward page by page, each page still oldest first', async () => {
    const seen: string[] = [];
    let before: string | null = null;
    for (const more of [true, true, false]) {
      const { pageInfo, ...part } = await page({ last: 3, before });
      expect(pageInfo).toMatchObject({ hasPreviousPage: more, hasNextPage: before !== null });
      seen.unshift(...vinsOf(part));
      before = pageInfo.startCursor;
    }
    expect(seen).toEqual(all);
  });

  test('an empty page has no cursors', async () => {
    const { pageInfo } = await page({ first: 1, after: (await page({ last: 1 })).pageInfo.endCursor });
    expect(pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null });
  });

  test('refuse invalid sizes, both ends at once, and invalid cursors', async () => {
    for (const wrong of [{ first: 0 }, { first: 1001 }, { last: -1 }, { first: 1, last: 1 }, { after: 'x' }]) {
      expect((await ask(client, text, { id: fleet.id, ...wrong })).codes).toEqual(['VALIDATION_FAILED']);
    }
  });
});

test('totalCount says whether it is exact, at 100,000 and beyond', async () => {
  const client = await gateway.as('eventful');
  const addEvents = (count: number) =>
    gateway.execute(`insert into event (type, company, actor, at, data, position)
      select 'fleet.created', 'eventful', 'test', now(), '{}', (select count(*) from event) + n from generate_series(1, ${count}) n`);
  const counts = async () => (await read(client, '{ events(first: 1) { totalCount totalCountIsExact } }')).events;
  await addEvents(100_000);
  expect(await counts()).toEqual({ totalCount: 100_000, totalCountIsExact: true });
  await addEvents(1);
  expect(await counts()).toEqual({ totalCount: 100_000, totalCountIsExact: false });
});

describe('statements', async () => {
  const nested = `query ($first: Int!, $size: Int) { fleets(first: $first) { totalCount nodes {
    name eligibilitySummary { pending } contracts(first: 2) { totalCount nodes { vehicle { vin } } }
    vehicles(first: $size) { totalCount nodes {
      vin manufacturer { name } eligibility { status } fleet { name } contracts { totalCount nodes { pack } } } } } } }`;
  const client = await gateway.as('nesting');
  for (let left = 50; left > 0; left--) {
    const fleet = await createFleet(client);
    const [vehicle] = await addVehicles(client, newVins(3), fleet);
    if (left % 5 === 0) await createContract(client, vehicle);
  }

  test('a nested query is one statement, for 50 fleets as for one', async () => {
    const one = await statementsOf(() => read(client, nested, { first: 1, size: 3 }));
    const fifty = await statementsOf(() => read(client, nested, { first: 50, size: 3 }));
    expect(fifty.result.fleets.nodes).toHaveLength(50);
    expect([one.statements.length, fifty.statements.length]).toEqual([1, 1]);
  });

  test('a query with invalid arguments below many rows is one, too', async () => {
    const { result, statements } = await statementsOf(() => ask(client, nested, { first: 5, size: 0 }));
    expect(result.codes).toContain('VALIDATION_FAILED');
    expect(statements).toHaveLength(1);
  });

  test('a payload is read by one statement per field, for any number of rows', async () => {
    const add = `mutation ($input: AddVehiclesInput!) { addVehicles(input: $input) { vehicles { fleet { name }
      timeline { totalCount } contracts { nodes { pack } } } } }`;
    const fleetId = (await createFleet(client)).id;
    const counts = [];
    for (const count of [1, 60]) {
      const input = { fleetId, vins: newVins(count) };
      const { result, statements } = await statementsOf(() => read(client, add, { input }));
      expect(result.addVehicles.vehicles).toHaveLength(count);
      counts.push(statements.filter((text) => text.includes('with ordinality')).length);
    }
    expect(counts).toEqual([3, 3]);
  });

  test('documents that differ by names and literals share a statement', async () => {
    const [{ id }] = (await read(client, '{ fleets(first: 1) { nodes { id } } }')).fleets.nodes;
    const write = (
      name: string,
      first: number,
      prefix: string,
    ) => `query ${name} { ${name}: fleet(id: "${id}") { ${name}1: name
      ${name}: vehicles(first: ${first}, filter: { vin: "${prefix}" }) { ${name}: totalCount ${name}2: nodes { ${name}: vin } } } }`;
    const texts = new Set<string>();
    for (const [name, first, prefix] of [
      ['a', 2, 'WBA0'],
      ['then', 3, 'WBA00'],
      ['__proto__', 1, 'WBA'],
    ] as const) {
      const { result, statements } = await statementsOf(() => read(client, write(name, first, prefix)));
      const { [name]: fleet } = result;
      expect(Object.keys(fleet)).toEqual([`${name}1`, name]);
      expect(fleet[name][name]).toBe(3);
      expect(fleet[name][`${name}2`].map((vehicle: Json) => Object.keys(vehicle))).toEqual(Array(first).fill([name]));
      for (const text of statements) texts.add(text);
    }
    expect(texts.size).toBe(1);
  });

  test('totalCount and totalCountIsExact are counted once', async () => {
    const query = '{ events { totalCount again: totalCount totalCountIsExact } }';
    const { result, statements } = await statementsOf(() => read(client, query));
    expect(result.events).toMatchObject({ totalCount: expect.any(Number), totalCountIsExact: true });
    expect(statements.map((text) => text.split('count(*)').length - 1)).toEqual([1]);
  });

  test('totalCount is counted only if it is selected', async () => {
    const without = await statementsOf(() => read(client, '{ fleets { nodes { id } } }'));
    const counted = await statementsOf(() => read(client, '{ fleets { totalCount nodes { id } } }'));
    expect([without, counted].map(({ statements }) => statements.map((text) => text.includes('count(*)')))).toEqual([
      [false],
      [true],
    ]);
  });

  /** Texts of statements outside transactions; all reads are outside. */
  async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
    const own = (['slowRead', 'read', 'send'] as const).map((way) => vi.spyOn(gateway.database, way));
    const others = vi.spyOn(gateway.database.orm.em.getKysely().getExecutor(), 'executeQuery');
    const result = await work();
    const texts = own.flatMap(({ mock }) => mock.calls.map(([text]) => text));
    const statements = [...texts, ...others.mock.calls.map(([{ sql }]) => sql)];
    for (const spy of [...own, others]) spy.mockRestore();
    return { result, statements };
  }
});
