import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { routes } from '../src/rest/router.ts';
import type { Answer, Json } from './support/client.ts';
import { everythingOf } from './support/everything.ts';
import { addVehicle, contractFields, createFleet, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { askGraphql, askRest, type Call, codeOf, type Operation, rootFields, textOf } from './support/operation.ts';
import { onGraphql, onRest, operations } from './support/operations.ts';
import { publishEvents } from './support/publish.ts';
import { neutral, newWorld, type World, worldOfNothing } from './support/worlds.ts';

// The tests select every field, which exceeds the usual cost limit.
const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000' } });
/** A client of a company without any objects. */
const stranger = await gateway.as('stranger');
const globex = await gateway.as('globex');

const nobodys = worldOfNothing(stranger, (key, number) =>
  key === 'company' ? 'nobody' : /vin$/i.test(key) ? newVin() : `01980000-0000-7000-8000-0000000000${number + 10}`,
);
const malformed = worldOfNothing(stranger, (key) => `no-${key}`);

let acme: World;
let before: Json;
beforeAll(async () => {
  acme = await newWorld(gateway, 'acme-corp');
  while (await publishEvents(contextOf(gateway.services, 'test', null)));
  before = await everythingOf(acme.client);
});

const idsIn = (text: string) => new Set(text.match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g));

const expectUnchanged = async () => {
  expect(await everythingOf(acme.client)).toEqual(before);
  expect(await gateway.execute(`select from event where company = 'acme-corp' and position is null`)).toEqual([]);
};

test('`operations` contains every operation of both interfaces', () => {
  expect(onRest.map(([name]) => name).toSorted()).toEqual(
    routes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  );
  expect(new Set(onGraphql.map(([, { field }]) => field))).toEqual(new Set(rootFields.map(({ name }) => name)));
  for (const [name, { document, only }] of Object.entries(operations)) {
    expect([name, only !== undefined]).toEqual([name, document === undefined || !name.includes(' /')]);
  }
});

const ways: Record<
  string,
  [[string, Operation][], (name: string, operation: Operation, call: Call) => Promise<Answer>]
> = {
  REST: [onRest, (name, _operation, call) => askRest(stranger, name, call)],
  GraphQL: [onGraphql, (_name, operation, call) => askGraphql(stranger, operation, call)],
};

/** Comments that keep an idle stream alive. */
const KEPT_ALIVE = /^:\n\n/gm;

/** All names in a call, as text. */
const named = ({ path, body, variables }: Call) =>
  JSON.stringify([path, body instanceof FormData ? [...body] : body, variables]);

describe.each(Object.entries(ways))('By %s', (_way, [walked, ask]) => {
  test.each(walked)(
    "%s: another company's ids are answered as unknown and as malformed ones",
    async (name, operation) => {
      const told = async (world: World, call: (world: World) => Call) => {
        const asked = call(world);
        const answer = await ask(name, operation, asked);
        const { status, body } = answer;
        const said = neutral(
          { status, body: typeof body === 'string' ? body.replaceAll(KEPT_ALIVE, '') : body },
          world,
        );
        return { asked: named(asked), answer, said };
      };
      const [first, ...others] = [...(operation.foreign ? [operation.foreign] : []), ...Object.values(operation.cases)];
      for (const call of [first as NonNullable<typeof first>, ...others]) {
        if (call !== first && named(call(acme)) === named(call(nobodys))) continue;
        const [theirs, unknown] = [await told(acme, call), await told(nobodys, call)];
        expect(theirs.said).toEqual(unknown.said);
        const text = textOf(theirs.answer);
        expect(
          idsIn(text)
            .difference(idsIn(theirs.asked))
            .intersection(idsIn(JSON.stringify(before))),
        ).toEqual(new Set());
        if (!theirs.asked.includes('acme-corp')) expect(text).not.toContain('acme-corp');
        if (call !== first) continue;
        if (operation.others) expect(codeOf(theirs.answer)).toBe(operation.others);
        const ofNothing = await told(malformed, call);
        const isJudged = operation.judgesImportId && ofNothing.asked.includes(malformed.importId);
        if (!isJudged) expect(ofNothing.said).toEqual(unknown.said);
      }
    },
  );

  test('no object of that company is changed', expectUnchanged);
});

describe("with a fleet of one's own", () => {
  test("another company's vehicles cannot be deleted", async () => {
    const { id: fleetId } = await createFleet(globex);
    const names = { ids: [acme.vehicleId], vins: [acme.vin] };
    expect((await globex.delete('/vehicles', { fleetId, ...names })).body).toEqual({ deleted: [], notFound: names });
    await expectUnchanged();
  });

  test("another company's vehicle gets no contract", async () => {
    const { id: fleetId } = await createFleet(globex);
    expect(await globex.post('/contracts', contractFields({ fleetId, vin: acme.vin }))).toMatchObject({
      status: 404,
      body: { code: 'VEHICLE_NOT_FOUND' },
    });
  });

  test('the same VIN is another vehicle, with its own eligibility', async () => {
    const vehicle = await addVehicle(globex, acme.vin);
    expect(vehicle.id).not.toBe(acme.vehicleId);
    await gateway.execute(`update vehicle set status = 'INELIGIBLE' where company = 'globex'`);
    expect(await globex.get(`/vehicles/eligibility/${acme.vin}`)).toMatchObject({ status: 200 });
    await expectUnchanged();
    await globex.delete(`/fleets/${vehicle.fleetId}`);
    await expectUnchanged();
  });

  test("another company's answer does not end a wait", async () => {
    const vehicle = await addVehicle(globex, acme.vin);
    const waiting = globex.get(`/vehicles/eligibility/${vehicle.vin}`, { prefer: 'wait=1' });
    gateway.services.changes.announceAnswers('acme-corp', [{ id: acme.vehicleId, vin: acme.vin }]);
    expect(await waiting).toMatchObject({ status: 409 });
  });
});
