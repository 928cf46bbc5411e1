import { expect, test } from 'vitest';
import type { UpstreamRequest } from '../../src/manufacturers/exchange.ts';
import { mercedesServices } from '../../src/manufacturers/mercedes-services.ts';
import type { ProgramWish } from '../../src/manufacturers/provider.ts';

/** Answers as mercedes-vehicle-management.yaml has them: accounts all or nothing, services by vehicle. */
function account({ bad = '', blacklisted = '', status = 'ACTIVE', licence = 'ACTIVE' } = {}) {
  const asked: string[] = [];
  const vehicles = new Set<string>();
  const reply = (status: number, body: unknown = null) => ({ outcome: 'REPLY', status, body }) as const;
  const services = mercedesServices(
    async ({ method, url, body }: UpstreamRequest) => {
      asked.push(`${method} ${url}`);
      const vins = (body as { vin: string }[] | undefined)?.map(({ vin }) => vin) ?? [];
      if (url === '/v1/accounts/vehicles') {
        if (vins.includes(bad))
          return reply(400, { type: '/error/validation-error', validationErrors: [{ field: 'vin', message: '' }] });
        if (vins.includes(blacklisted)) return reply(403, { type: '/vehicle/blacklist', vins: [blacklisted] });
        for (const vin of vins) vehicles.add(vin);
        return reply(201);
      }
      if (url === '/v2/accounts/vehicles/services') {
        const unknown = vins.filter((vin) => !vehicles.has(vin));
        return unknown.length > 0 ? reply(404, { type: '/vehicle/not-found', vins: unknown }) : reply(202);
      }
      if (url.endsWith('/license-status')) return reply(200, { status: licence });
      const [, vin = ''] = /vehicles\/(\w+)\/services$/.exec(url) ?? [];
      return vehicles.has(vin)
        ? reply(200, { vin, deltaPush: true, services: [{ serviceId: '1001', status, orderTime: 1 }] })
        : reply(404, { type: '/vehicle/not-found', vins: [vin] });
    },
    '',
    { basic: ['1001'] },
  );
  const ask = async (...wishes: Partial<ProgramWish>[]) => {
    const whole = wishes.map((one) => ({ ...plain, ...one }));
    return (await services.activate(whole, { company: '', deadline: Number.POSITIVE_INFINITY })).map((answer) => [
      answer.outcome === 'STANDS' ? answer.state : answer.outcome,
      answer.reason?.code,
    ]);
  };
  return { ask, asked, vehicles };
}
const plain: ProgramWish = {
  ...{ vin: 'WDB00000000000001', brand: 'mercedes-benz', program: '1001' },
  ...{ wanted: true, asked: false, renewed: false },
};
const vin = (n: number) => `WDB0000000000000${n}`;

test('vehicles join the account, then their services are ordered, in one request each', async () => {
  const { ask, asked } = account();
  expect(await ask({ vin: vin(1) }, { vin: vin(2) })).toEqual(Array(2).fill(['PENDING', undefined]));
  expect(asked).toEqual(['POST /v1/accounts/vehicles', 'POST /v2/accounts/vehicles/services']);
});

test('of a batch that is all or nothing, a vehicle that is refused stands alone', async () => {
  const four = [1, 2, 3, 4].map((n) => ({ vin: vin(n) }));
  const pending = ['PENDING', undefined];
  expect(await account({ bad: vin(3) }).ask(...four)).toEqual([pending, pending, ['FAILED', 'VIN_REFUSED'], pending]);
  const { ask } = account({ blacklisted: vin(1) });
  expect(await ask(...four)).toEqual([['REJECTED', 'VEHICLE_BLACKLISTED'], pending, pending, pending]);
});

test.each([
  ['ACTIVE', 'ACTIVE', undefined],
  ['ACTIVATION_PENDING', 'PENDING', undefined],
  ['INACTIVE', 'PENDING', undefined],
  ['ACTIVATION_FAILED', 'REJECTED', 'ACTIVATION_REJECTED'],
  ['NOT_AVAILABLE', 'REJECTED', 'NO_SERVICE_AVAILABLE'],
])('a wanted service that is %s there is %s', async (status, state, code) => {
  const { ask, vehicles } = account({ status });
  vehicles.add(plain.vin);
  expect(await ask({ asked: true })).toEqual([[state, code]]);
});

test('a licence that has expired is the operator’s', async () => {
  const { ask, vehicles } = account({ status: 'ACTIVATION_FAILED', licence: 'EXPIRED' });
  vehicles.add(plain.vin);
  expect(await ask({ asked: true })).toEqual([['FAILED', 'LICENCE_EXPIRED']]);
});

test('an end is ordered while a service is active, and confirmed when it is not', async () => {
  const active = account();
  active.vehicles.add(plain.vin);
  expect(await active.ask({ asked: true, wanted: false })).toEqual([['ENDING', undefined]]);
  const inactive = account({ status: 'INACTIVE' });
  inactive.vehicles.add(plain.vin);
  expect(await inactive.ask({ asked: true, wanted: false })).toEqual([['ENDED', undefined]]);
  expect(inactive.asked).not.toContain('POST /v2/accounts/vehicles/services');
});

test('a vehicle that left the account joins it again', async () => {
  const { ask, asked } = account();
  expect(await ask({ asked: true })).toEqual([['PENDING', undefined]]);
  expect(asked).toContain('POST /v1/accounts/vehicles');
});
