// Another company is served beside forty concurrent calls of each operation.
import { describe, expect, test } from 'vitest';
import type { Answer } from '../support/client.ts';
import { createFleet, fleetFields, newVins } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { askGraphql, askRest, codeOf } from '../support/operation.ts';
import { operations } from '../support/operations.ts';
import { newWorld } from '../support/worlds.ts';

// One company sends each operation of both interfaces many times at once. Another company is served meanwhile.

const gateway = await startGateway({ settings: { LIMIT_VINS: '20' } });
const loud = await newWorld(gateway, 'loud');
const quiet = await gateway.as('quiet');
const fleet = await createFleet(quiet);
const AT_ONCE = 40;

async function others(): Promise<Answer[]> {
  return Promise.all([
    quiet.get('/fleets'),
    quiet.get(`/fleets/${fleet.id}/vehicles`),
    quiet.post('/fleets', fleetFields),
    quiet.post('/vehicles', { fleetId: fleet.id, vins: newVins(3) }),
    quiet.patch(`/fleets/${fleet.id}`, { vat: 'DE2' }),
    quiet.post('/graphql', { query: '{ company { vehicleCount } fleets { nodes { vehicles { totalCount } } } }' }),
    gateway.anyone.get('/readyz'),
  ]);
}

/** Whether a response names the service as the cause. */
const isAtFault = (answer: Answer) =>
  answer.status >= 500 || ['INTERNAL', 'UNAVAILABLE'].includes(codeOf(answer) ?? '');

const asked = Object.entries(operations).filter(([, { streams }]) => !streams);

describe.each(asked)('%s', (name, operation) => {
  const [first] = Object.values(operation.cases);
  const interfaces = {
    REST: name.includes(' /') && (() => askRest(loud.client, name, first?.(loud) ?? { path: '' })),
    GraphQL: operation.document && (() => askGraphql(loud.client, operation, first?.(loud) ?? { path: '' })),
  };
  const ways = Object.entries(interfaces).flatMap(([way, ask]) => (ask ? [[way, ask] as const] : []));

  test.each(ways)(`by %s, ${AT_ONCE} at once`, async (_way, ask) => {
    const flood = Promise.all(Array.from({ length: AT_ONCE }, ask));
    const served = await others();
    expect(served.map(({ status }) => status)).toEqual([200, 200, 201, 201, 200, 200, 200]);
    expect(served.map(codeOf)).toEqual(served.map(() => undefined));
    expect((await flood).filter(isAtFault).map(({ body }) => body)).toEqual([]);
  });
});
