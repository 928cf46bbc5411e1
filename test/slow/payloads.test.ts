import { expect, test } from 'vitest';
import { randomDocument, randomFrom } from '../documents/generate.ts';
import { openTrial } from '../documents/trial.ts';
import { poolsOf } from '../documents/world.ts';
import { startGateway } from '../support/gateway.ts';

/** `npm run test:slow` tries the same ones each time. */
const COUNT = 400;

const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000000000000' } });

// What a mutation gives back is loaded in another way than what a query begins with, and must be the same.
test('what a mutation gives of a fleet and its vehicles is what a query gives', async () => {
  const { rows, close } = await openTrial(gateway);
  const client = await gateway.as('acme');
  const pools = poolsOf(rows);
  const fleets = rows.fleet.filter(({ id }) => rows.vehicle.some(({ fleetId }) => fleetId === id));
  let compared = 0;
  for (let seed = 1; seed <= COUNT; seed++) {
    const random = randomFrom(seed);
    const fleet = fleets[Math.floor(random() * fleets.length)];
    const vehicles = rows.vehicle.filter(({ fleetId }) => fleetId === fleet.id);
    const vins = vehicles.map(({ vin }) => vin as string);
    const isFleet = random() < 0.5;
    const field = isFleet ? 'fleet' : 'vehicles';
    // They are all there already, so nothing changes.
    const open = `{ payload: addVehicles(input: { fleetId: "${fleet.id}", vins: ${JSON.stringify(vins)} }) { ${field} `;
    const type = isFleet ? 'Fleet' : 'Vehicle';
    const { query, sends } = randomDocument(pools, random, { type, operation: 'mutation', open, close: ' } }' });
    const asQuery = query
      .replaceAll(/^mutation/gm, 'query')
      .replaceAll(
        open,
        `{ payload: nodes(ids: ${JSON.stringify((isFleet ? [fleet] : vehicles).map(({ id }) => id))}) { ... on ${type} `,
      )
      .replaceAll(/ \} \}$/gm, ' } }');
    for (const send of sends) {
      const [changed, read] = await Promise.all(
        [query, asQuery].map((text) => client.post('/graphql', { query: text, ...send })),
      );
      const of = `${query}\n${JSON.stringify(send)}`;
      expect([changed?.status, JSON.stringify(changed?.body).includes('INTERNAL')], of).toEqual([read?.status, false]);
      if (read?.body.errors || changed?.body.errors) {
        expect(
          [of, changed?.body.errors !== undefined],
          JSON.stringify([changed?.body.errors, read?.body.errors]),
        ).toEqual([of, read?.body.errors !== undefined]);
        continue;
      }
      compared += 1;
      const given = changed?.body.data.payload[field];
      expect(isFleet ? [given] : given, of).toEqual(read?.body.data.payload);
    }
  }
  expect(compared).toBeGreaterThan(COUNT);
  await close();
});
