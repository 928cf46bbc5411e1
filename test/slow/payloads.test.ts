// Mutations' payloads compared with queries, by random selections.
import { expect, test } from 'vitest';
import { randomDocument, randomFrom } from '../documents/generate.ts';
import { openTrial } from '../documents/trial.ts';
import { poolsOf } from '../documents/world.ts';
import { startGateway } from '../support/gateway.ts';

/** Seeds 1 to COUNT make the same documents in each run. */
const COUNT = 400;

const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000000000000' } });

// Payloads of mutations are loaded in another way than queries, but must be equal.
test("a mutation's payload of a fleet and its vehicles equals a query's", async () => {
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
    // The vehicles exist already, so nothing changes.
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
