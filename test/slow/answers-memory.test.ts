// Garbage collections during large responses.
import { expect, inject, test } from 'vitest';
import { databaseEnv } from '../support/database.ts';
import { createFleet, newVin } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();

/** V8's figures of one scavenge on the main thread, in bytes. */
interface Collection {
  gc: string;
  allocated: number;
  promoted: number;
}

test('responses are collected while young: none retains the next', async () => {
  const gateway = await spawnGateway(env, {
    ...(kind === 'postgresql' && { issuer }),
    command: [process.execPath, '--max-semi-space-size=16', '--trace-gc-nvp', 'src/main.ts'],
  });
  const client = gateway.as(kind === 'postgresql' ? 'acme' : 'demo');
  const fleet = await createFleet(client);
  const vins = Array.from({ length: 1000 }, () => newVin());
  expect((await client.post('/vehicles', { fleetId: fleet.id, vins })).status).toBe(201);
  const read = async (times: number) => {
    for (let at = 0; at < times; at++) await client.get(`/fleets/${fleet.id}/vehicles`);
  };
  // Compiled code is promoted before the measurement.
  await read(100);
  const before = gateway.output().length;
  await read(500);
  const collections = [
    ...gateway
      .output()
      .slice(before)
      .matchAll(/GC: (\{.*\})$/gm),
  ]
    .map(([, json]) => JSON.parse(json ?? '') as Collection)
    .filter(({ gc, allocated }) => gc === 's' && allocated > 0);
  const sum = (member: 'allocated' | 'promoted') => collections.reduce((total, one) => total + one[member], 0);
  console.log(
    `${collections.length} collections, ${((100 * sum('promoted')) / sum('allocated')).toFixed(1)} % grew old`,
  );
  expect(collections.length).toBeGreaterThan(5);
  expect(sum('promoted')).toBeLessThan(sum('allocated') / 10);
});
