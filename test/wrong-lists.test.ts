import { getNamedType, getNullableType, isEnumType, isInputObjectType, isListType } from 'graphql';
import { expect, test } from 'vitest';
import { graphqlSchema } from '../src/graphql/schema/schema.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, contractFields, createContract, createFleet, newVins, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');

async function change(client: Client, name: string, input: Json, selection: string): Promise<Json> {
  const type = name.replace(/^./, (letter) => letter.toUpperCase());
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) { ${selection} } }`;
  const { body } = await client.post('/graphql', { query, variables: { input } });
  return body.errors ? body : body.data[name];
}

const report = 'summary { received created existing rejected } vehicles { id } rejected { index value code }';

test.each([{ dryRun: false }, { dryRun: true }])(
  'VINs that are all wrong are in the payload, as some are: %j',
  async (more) => {
    const fleet = await createFleet(acme);
    const input = { fleetId: fleet.id, vins: ['SHORT', 'WBA0000000000000O'], ...more };
    expect(await change(acme, 'addVehicles', input, report)).toEqual({
      summary: { received: 2, created: 0, existing: 0, rejected: 2 },
      vehicles: [],
      rejected: [
        { index: 0, value: 'SHORT', code: 'VIN_INVALID_LENGTH' },
        { index: 1, value: 'WBA0000000000000O', code: 'VIN_INVALID_CHARACTER' },
      ],
    });
    expect((await acme.get(`/fleets/${fleet.id}/vehicles`)).body).toEqual([]);
  },
);

test('a wrong VIN fails the mode atomic, with the report in the error', async () => {
  const fleet = await createFleet(acme);
  const because = 'Nothing was stored (mode atomic), because of';
  for (const [wrong, good, message] of [
    [['SHORT'], [], 'Every VIN was rejected.'],
    [['SHORT'], newVins(1), `${because} 1 rejected VIN among 2.`],
    [['SHORT', 'WRONG'], newVins(2), `${because} 2 rejected VINs among 4.`],
  ] as const) {
    const vins = [...wrong, ...good];
    const { errors } = await change(acme, 'addVehicles', { fleetId: fleet.id, vins, mode: 'ATOMIC' }, report);
    expect(errors[0].message).toBe(message);
    expect(errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      rejected: wrong.map((value) => ({ value })),
    });
  }
  expect((await acme.get(`/fleets/${fleet.id}/vehicles`)).body).toEqual([]);
});

test.each([{ dryRun: false }, { dryRun: true }])(
  'vehicles that all get no contract are in the payload: %j',
  async (more) => {
    const [vehicle] = await addVehicles(acme, newVins(1));
    const { id } = await createContract(acme, vehicle);
    const { vin: _, ...terms } = contractFields(vehicle as Json);
    const rejected = 'contracts { id } rejected { vin code conflicts } warnings { code }';
    const input = { ...terms, ...more };
    const wrong = { ...input, vins: ['SHORT', vehicle?.vin] };
    expect(await change(acme, 'createContracts', wrong, rejected)).toEqual({
      contracts: [],
      rejected: [
        { vin: 'SHORT', code: 'VIN_INVALID_LENGTH', conflicts: [] },
        { vin: vehicle?.vin, code: 'CONTRACT_OVERLAP', conflicts: [id] },
      ],
      warnings: [],
    });
    const search = more.dryRun ? '?dryRun=true' : '';
    expect(
      await acme.post(`/contracts/bulk${search}`, {
        ...terms,
        vins: null,
        vehicleIds: [unknownId, ` ${unknownId}`, vehicle?.id],
      }),
    ).toMatchObject({
      status: 400,
      body: {
        code: 'VALIDATION_FAILED',
        detail: 'No contract was created: every vehicle was rejected.',
        errors: [
          { path: 'vehicleIds.0', code: 'VEHICLE_NOT_FOUND' },
          { path: 'vehicleIds.2', code: 'CONTRACT_OVERLAP' },
        ],
        rejectedContracts: [{ vin: unknownId }, { vin: vehicle?.id }],
      },
    });
  },
);

test('manufacturers are asked about the vehicles that there are, and the others are reported', async () => {
  const globex = await gateway.as('globex');
  const [one, other, third] = await addVehicles(acme, newVins(3));
  const [foreign] = await addVehicles(globex, newVins(1));
  const asked = {
    ids: [third?.id.toUpperCase(), unknownId, 'none', foreign?.id],
    vins: [other?.vin, 'SHORT', ` ${one?.vin.toLowerCase()}`, foreign?.vin],
  };
  expect(await change(acme, 'verifyEligibility', asked, 'eligibilities { vin status } notFound { ids vins }')).toEqual({
    eligibilities: [third, other, one].map((vehicle) => ({ vin: vehicle?.vin, status: 'PENDING' })),
    notFound: { ids: [unknownId, 'none', foreign?.id], vins: ['SHORT', foreign?.vin] },
  });
  for (const input of [{}, { vins: [] }, { ids: [], vins: null }]) {
    const { errors } = await change(acme, 'verifyEligibility', input, 'notFound { ids }');
    expect(errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'vins' }] });
  }
  for (const vin of ['SHORT', foreign?.vin]) {
    expect(await acme.post(`/vehicles/eligibility/${vin}/refresh`)).toMatchObject({
      status: 404,
      body: { code: 'VEHICLE_NOT_FOUND', detail: `No fleet has a vehicle with the VIN ${vin}.` },
    });
  }
});

/** Inputs by mutation of which nothing is there or right, and members of their payloads. */
const whollyWrong: Record<string, [input: Json, payload: Json]> = {
  deleteVehicles: [
    { ids: ['none'], vins: ['SHORT'] },
    { deleted: [], notFound: { ids: ['none'], vins: ['SHORT'] } },
  ],
  moveVehicles: [
    { ids: [unknownId], vins: ['SHORT'] },
    { vehicles: [], notFound: { ids: [unknownId], vins: ['SHORT'] } },
  ],
  verifyEligibility: [
    { ids: ['none'], vins: ['SHORT'] },
    { eligibilities: [], notFound: { ids: ['none'], vins: ['SHORT'] } },
  ],
  endContracts: [{ ids: [unknownId, 'none'] }, { contracts: [], notFound: [unknownId, 'none'] }],
  deleteContracts: [{ ids: [unknownId, 'none'] }, { deleted: [], notFound: [unknownId, 'none'] }],
  refreshActivation: [{ ids: [unknownId, 'none'] }, { contracts: [], notFound: [unknownId, 'none'] }],
};

test.each(Object.entries(whollyWrong))('what %s finds none of is in the payload', async (name, [input, payload]) => {
  const fleet = name.endsWith('Vehicles') && { fleetId: (await createFleet(acme)).id };
  const selection = Object.entries(payload).map(([member, value]) => {
    if (!Array.isArray(value)) return `${member} { ids vins }`;
    return value.length > 0 ? member : `${member} { __typename }`;
  });
  expect(await change(acme, name, { ...fleet, ...input }, selection.join(' '))).toEqual(payload);
});

test('each mutation that takes a list of things, or a file of them, is asked above or in test/graphql-uploads.test.ts', () => {
  const takesMany = Object.values(graphqlSchema.getMutationType()?.getFields() ?? {}).filter(({ args: [input] }) => {
    const type = input && getNamedType(input.type);
    if (!isInputObjectType(type)) return false;
    const types = Object.values(type.getFields()).map((field) => getNullableType(field.type));
    return types.some((one) => String(one) === 'Upload' || (isListType(one) && !isEnumType(getNamedType(one))));
  });
  const others = ['addVehicles', 'createContracts', 'importVehicles'];
  expect(takesMany.map(({ name }) => name).sort()).toEqual([...others, ...Object.keys(whollyWrong)].sort());
});
