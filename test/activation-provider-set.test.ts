import { afterAll, expect, test } from 'vitest';
import { openPlaces } from '../src/fairness/slots.ts';
import { VerifyEligibility } from '../src/jobs/verify-eligibility.ts';
import { clearanceBrands } from '../src/manufacturers/brands.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import type { ProviderAnswer } from '../src/manufacturers/provider.ts';
import { type Manufacturers, manufacturersOf } from '../src/manufacturers/registry.ts';
import { activationWork, inForce, toolsOf } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createContract, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer } from './support/upstream.ts';

// Vehicles that turn out to be of another maker.

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());

/** High Mobility of which every vehicle is eligible, and that knows each brand by its name. */
class Eligible extends HighMobility {
  override askedAs(brand: string): string {
    return brand;
  }

  override async verify(): Promise<ProviderAnswer> {
    const unknown = { connectivityStatus: null, primaryUserAssigned: null, reason: null };
    return { outcome: 'ANSWERED', eligible: true, dataDelivery: ['PULL'], ...unknown, raw: {} };
  }
}
type Brands = ConstructorParameters<typeof HighMobility>[0]['brands'];
const realOf = (brands: Brands = [], cleared: Brands = clearanceBrands): Manufacturers => {
  const clearance = { brands: cleared, lookDelays: [1] };
  return manufacturersOf([
    new Eligible({ openPlaces, url: upstream.url, clientId: 'client', clientSecret: 'secret', brands, clearance }),
  ]);
};

const first = await startGateway();

const stateOf = async (client: Client, { id }: Json): Promise<string> =>
  (await client.get(`/contracts/${id}`)).body.activation.state;

test('a contract is carried out when the maker of its vehicle becomes known', async () => {
  // Renault and Dacia share the beginning of the VIN; only Dacia has a provider.
  const manufacturers = realOf(['dacia'], ['dacia']);
  const gateway = await startGateway({ on: first, settings: { CONTRACTS_ACTIVATION: 'on' }, manufacturers });
  const client = await gateway.as('initech');
  const [vehicle] = await addVehicles(client, [newVin(0, 'VF1')]);
  // As a version left it that did not know the beginning of the VIN.
  await first.execute(`update vehicle set manufacturer = null where id = '${vehicle.id}'`);
  const contract = await createContract(client, vehicle, inForce);
  const [{ columns }] = (await first.execute(`select string_agg(column_name, ', ') as columns
    from information_schema.columns where table_name = 'contract' and is_generated = 'NEVER'`)) as [Json];
  await first.execute(`insert into contract (${columns}) select ${columns}
    from (select to_jsonb(c) as c from contract c where id = '${contract.id}') one, generate_series(1, 1100) n,
      jsonb_populate_record(null::contract, c || jsonb_build_object('id', new_uuid(), 'pack', 'pack ' || n))`);
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
  const states = `select activation, count(*)::int as count from contract where company = 'initech' group by activation`;
  expect(await first.execute(states)).toEqual([{ activation: 'ACTIVE', count: 1101 }]);
});
