import { expect, test } from 'vitest';
import { openPlaces } from '../src/fairness/slots.ts';
import { Mercedes } from '../src/manufacturers/mercedes.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import { activationWork, HOUR, MINUTE, startActivations, stateOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';

// MERCEDES_PACKS changes: gateways with other packs on the same database, one after the other.

const first = await startActivations({ packs: { basic: ['1001'], wrong: ['1001', '9999'], large: ['1002', '1001'] } });
const { upstream, clock } = first;
upstream.serves = () => ({ status: 'ACTIVE', afterMs: MINUTE / 2 });
upstream.endsAfterMs = 0;
const acme = await first.gateway.as('acme');
const mercedes = () => addVehicle(acme, newVin(0, 'W1K'));
const settings = { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' };

const withPacks = (packs: Record<string, string[]>) => {
  const { url, tokenUrl } = upstream;
  const provider = new Mercedes({
    openPlaces,
    url,
    tokenUrl,
    clientId: 'client',
    clientSecret: 'secret',
    packs,
    clock,
  });
  return startGateway({ on: first.gateway, manufacturers: manufacturersOf([provider]), settings });
};
const packs = { basic: ['1001', '1002'], wrong: ['1002'], large: ['1001'] };
const [second, empty, third, fourth, wider, without] = [
  await withPacks(packs),
  await withPacks({}),
  await withPacks({ ...packs, basic: ['1002', '1001'] }),
  await withPacks({ basic: ['1001', '1002'], wrong: ['1002'] }),
  await withPacks({ basic: ['1001', '1002', '2001'], wrong: ['1002'] }),
  await withPacks({ wrong: ['1002'] }),
];

let workOf: () => Promise<void> = first.work;
/** The start of a gateway in place of the one before. */
async function replaceBy(gateway: Gateway) {
  workOf = activationWork(gateway);
  gateway.passTime(clock() - gateway.services.clock());
  upstream.received.length = 0;
  await letPass(gateway, 0);
}
async function letPass(gateway: Gateway, minutes: number) {
  await workOf();
  for (let minute = 0; minute < minutes; minute++) {
    first.passTime(MINUTE);
    if (gateway !== first.gateway) gateway.passTime(MINUTE);
    await workOf();
  }
}
const statusOf = ({ vin }: Json, service: string) => upstream.serviceOf(vin, service)?.status;
const ordersOf = (received: typeof upstream.received) =>
  received.flatMap(({ method, path, body }) =>
    method === 'POST' && path === '/v2/accounts/vehicles/services' ? (JSON.parse(body) as Json[]) : [],
  );
const orders = () => ordersOf(upstream.received);
/** A request is refused as a whole, here for the service that the catalogue does not have, and sent again without it. */
const taken = () => ordersOf(upstream.received.filter(({ answer }) => answer?.[0] === 202));
const eventsOf = async ({ id }: Json): Promise<string[]> => {
  const { body } = await acme.get('/events?limit=200');
  return body.flatMap(({ type, contractId }: Json) => (contractId === id ? type : []));
};

test('settings that change are asked for and ended in contracts in force', async () => {
  const vehicles = [await mercedes(), await mercedes(), await mercedes(), await mercedes()] as const;
  const [grown, mended, shrunk, gone] = vehicles;
  const byPack = (vehicle: Json, pack: string) => first.contract(acme, vehicle, { pack });
  const basic = await byPack(grown, 'basic');
  const wrong = await byPack(mended, 'wrong');
  const large = await byPack(shrunk, 'large');
  const later = await byPack(gone, 'large');
  await letPass(first.gateway, 4);
  expect(await stateOf(acme, basic)).toEqual(['ACTIVE']);
  expect(await stateOf(acme, wrong)).toEqual(['FAILED', 'PACK_NOT_OFFERED', 'OPERATOR']);

  await replaceBy(second);
  expect(await stateOf(acme, basic)).toEqual(['PENDING']);
  expect(await stateOf(acme, wrong)).toEqual(['PENDING']);
  await letPass(second, 10);
  for (const one of [basic, wrong, large]) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  expect([statusOf(grown, '1001'), statusOf(grown, '1002')]).toEqual(['ACTIVE', 'ACTIVE']);
  expect([statusOf(mended, '1001'), statusOf(mended, '1002')]).toEqual(['INACTIVE', 'ACTIVE']);
  expect([statusOf(shrunk, '1002'), statusOf(shrunk, '1001')]).toEqual(['INACTIVE', 'ACTIVE']);

  // The end of a service that the catalogue does not have waits for nothing.
  const left = await first.gateway.execute(`select program from activation where not wanted and state <> 'ENDED'`);
  expect(left).toEqual([]);

  // A service that stays is not ordered again, and an order of services is no change.
  const ofGrown = taken().filter(({ vin }) => vin === grown.vin);
  expect(ofGrown.flatMap(({ services }) => services)).toEqual([{ serviceId: '1002', desiredStatus: 'ACTIVE' }]);
  expect(orders().filter(({ services }) => services.some(({ serviceId }: Json) => serviceId === '9999'))).toHaveLength(
    1,
  );
  await replaceBy(third);
  expect(orders()).toEqual([]);

  // Without any pack the provider cannot be asked, and nothing is ended by mistake.
  await replaceBy(empty);
  expect(await stateOf(acme, later)).toEqual(['ACTIVE']);
  expect(orders()).toEqual([]);

  await replaceBy(fourth);
  expect(await stateOf(acme, later)).toEqual(['UNSUPPORTED', 'PACK_NOT_OFFERED', 'OPERATOR']);
  await letPass(fourth, 2);
  expect(await eventsOf(later)).toContain('contract.deactivated');
  await letPass(fourth, 10);
  expect(statusOf(gone, '1001')).toBe('INACTIVE');
  expect(await stateOf(acme, basic)).toEqual(['ACTIVE']);

  // What was active is told as such, also where it waits for another service when its pack goes.
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: HOUR });
  await replaceBy(wider);
  await letPass(wider, 2);
  expect(await stateOf(acme, basic)).toEqual(['PENDING']);
  await replaceBy(without);
  expect(await stateOf(acme, basic)).toEqual(['UNSUPPORTED', 'PACK_NOT_OFFERED', 'OPERATOR']);
  await letPass(without, 10);
  expect((await eventsOf(basic)).at(-1)).toBe('contract.deactivated');
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
  await replaceBy(fourth);
  await letPass(fourth, 10);
  expect(await stateOf(acme, basic)).toEqual(['ACTIVE']);
  expect((await eventsOf(basic)).at(-1)).toBe('contract.activated');
});
