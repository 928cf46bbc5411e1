import { afterAll, expect, test } from 'vitest';
import { VerifyEligibility } from '../src/jobs/verify-eligibility.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import { clearanceBrands } from '../src/manufacturers/high-mobility-clearance.ts';
import type { ProviderAnswer } from '../src/manufacturers/provider.ts';
import { type Manufacturers, manufacturersOf } from '../src/manufacturers/registry.ts';
import { activationWork, inForce, toolsOf } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createContract, newVin } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer } from './support/upstream.ts';

// Another provider than before: gateways on the same database, one after the other.

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());

/** High Mobility of which every vehicle is eligible. */
class Eligible extends HighMobility {
  override async verify(): Promise<ProviderAnswer> {
    const unknown = { connectivityStatus: null, primaryUserAssigned: null, reason: null };
    return { outcome: 'ANSWERED', eligible: true, dataDelivery: ['PULL'], ...unknown, raw: {} };
  }
}
type Brands = ConstructorParameters<typeof HighMobility>[0]['brands'];
const realOf = (brands: Brands = [], cleared: Brands = clearanceBrands): Manufacturers => {
  const clearance = { brands: cleared, looks: [1] };
  return manufacturersOf([
    new Eligible({ url: upstream.url, clientId: 'client', clientSecret: 'secret', brands, clearance }),
  ]);
};

const first = await startGateway();
const start = (settings: NodeJS.ProcessEnv, manufacturers?: Manufacturers): Promise<Gateway> =>
  startGateway({ on: first, workers: true, settings, ...(manufacturers && { manufacturers }) });

const stateOf = async (client: Client, { id }: Json): Promise<string> =>
  (await client.get(`/contracts/${id}`)).body.activation.state;
const becomes = (client: Client, contract: Json, state: string) =>
  until(async () => (await stateOf(client, contract)) === state);

/** Contracts that the sandbox carried out: one active, one rejected, one whose period is over, and the company's client. */
async function invented(company: string) {
  const gateway = await start({});
  const client = await gateway.as(company);
  const vehicles = await addVehicles(client, [newVin(0), newVin(7), newVin(0)]);
  const contracts = [];
  for (const vehicle of vehicles) contracts.push(await createContract(client, vehicle, inForce));
  const states = ['ACTIVE', 'REJECTED', 'ACTIVE'];
  for (const [at, state] of states.entries()) await becomes(client, contracts[at], state);
  await gateway.close();
  const ended = `update contract set ends_at = now() - interval '1 minute', due_at = null where id = '${contracts[2].id}'`;
  await first.execute(ended);
  return contracts;
}
const left = (company: string) =>
  first.execute<Json>(`select provider from activation where company = '${company}' order by provider`);

test('contracts of the sandbox are carried out by a provider that is set later', async () => {
  const [active, rejected, over] = await invented('acme');
  const gateway = await start({ CONTRACTS_ACTIVATION: 'on' }, realOf());
  const client = await gateway.as('acme');
  for (const contract of [active, rejected]) {
    await until(async () => upstream.clearanceOf(contract.vin)?.status === 'approved');
    await becomes(client, contract, 'ACTIVE');
  }
  await becomes(client, over, 'ENDED');
  expect(upstream.clearanceOf(over.vin)?.status).toBeUndefined();
  expect(await left('acme')).toEqual([{ provider: 'high-mobility' }, { provider: 'high-mobility' }]);
  const ended = () => client.get('/events?type=contract.deactivated');
  await until(async () => (await ended()).body.length > 0);
  expect((await ended()).body.map(({ contractId }: Json) => contractId)).toEqual([over.id]);
  await gateway.close();
});

test('where manufacturers are not told, they are OFF', async () => {
  const [active, rejected, over] = await invented('globex');
  const gateway = await start({ CONTRACTS_ACTIVATION: 'off' }, realOf());
  const client = await gateway.as('globex');
  for (const contract of [active, rejected]) await becomes(client, contract, 'OFF');
  await becomes(client, over, 'ENDED');
  expect(await left('globex')).toEqual([]);
  await gateway.close();
});

test('a contract is carried out when its vehicle turns out to be of another maker', async () => {
  // Renault and Dacia share the beginning of the VIN; only Dacia has a provider.
  const manufacturers = realOf(['dacia'], ['dacia']);
  const gateway = await startGateway({ on: first, settings: { CONTRACTS_ACTIVATION: 'on' }, manufacturers });
  const client = await gateway.as('initech');
  const [vehicle] = await addVehicles(client, [newVin(0, 'VF1')]);
  expect(vehicle.manufacturer).toBe('renault');
  const contract = await createContract(client, vehicle, inForce);
  const work = activationWork(gateway);
  await work();
  expect(await stateOf(client, contract)).toBe('UNSUPPORTED');

  const verify = new VerifyEligibility(toolsOf(gateway));
  await verify.run(new AbortController().signal);
  await verify.stop();
  expect((await client.get(`/vehicles/${vehicle.id}`)).body.manufacturer).toBe('dacia');
  await until(async () => {
    await work();
    return (await stateOf(client, contract)) === 'ACTIVE';
  });
  expect(upstream.clearanceOf(vehicle.vin)?.status).toBe('approved');
});
