import { expect, inject, test } from 'vitest';
import { databaseEnv } from './support/database.ts';
import { enteredFiles } from './support/entered-files.ts';
import { createFleet, fleetFields, newVins } from './support/factories.ts';
import { spawnGateway, testIssuer } from './support/gateway.ts';

const { kind } = inject('database');
const issuer = await testIssuer();
const env = { ...(await databaseEnv()), WORKERS: 'off', NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/** The largest number of source files that a request enters. */
const most = { 'a list by REST': 25, 'POST /fleets': 30, 'a nested query': 30, 'a mutation with a payload': 45 };

const nested = `query ($id: ID!) { fleet(id: $id) { id name vehicles(first: 20) {
  totalCount nodes { id vin manufacturer { id } eligibility { status } contracts(first: 5) { nodes { id name } } } } } }`;
const add = `mutation ($input: AddVehiclesInput!) { addVehicles(input: $input) {
  summary { created } vehicles { id vin fleet { id name } eligibility { status } } } }`;

const WARM = 20;

test('a warm request enters few source files', async () => {
  const gateway = await spawnGateway(env, kind === 'postgresql' ? { issuer } : {});
  const acme = gateway.as('acme');
  const entered = await enteredFiles(gateway);
  const { id: fleetId } = await createFleet(acme);
  const requests: Record<keyof typeof most, () => Promise<{ status: number; body: unknown }>> = {
    'a list by REST': () => acme.get('/fleets?limit=20'),
    'POST /fleets': () => acme.post('/fleets', fleetFields),
    'a nested query': () => acme.post('/graphql', { query: nested, variables: { id: fleetId } }),
    'a mutation with a payload': () =>
      acme.post('/graphql', { query: add, variables: { input: { fleetId, vins: newVins(2) } } }),
  };
  const found: Record<string, string[]> = {};
  for (const [name, send] of Object.entries(requests)) {
    for (let at = 0; at < WARM; at++) expect([200, 201]).toContain((await send()).status);
    expect((await send()).body).not.toHaveProperty('errors');
    // A timer of the metrics may go off meanwhile.
    found[name] = (await entered(send)).filter((file) => file !== 'http/observability/metrics.ts');
  }
  for (const [name, files] of Object.entries(found)) {
    const shown = `${name}: ${files.length} files\n${files.join('\n')}\n`;
    expect(files.length, shown).toBeGreaterThan(10);
    expect(files.length, shown).toBeLessThanOrEqual(most[name as keyof typeof most]);
  }
});
