import { z } from 'zod';
import { readOptions, runCommand } from './command.ts';
import { type DemoFleet, demoContracts, demoFleets, vinsOf } from './demo-data.ts';
import { Gateway, gatewayOptions, Rejected } from './gateway.ts';

const usage = 'Usage: npm run demo [-- --url http://127.0.0.1:4000 --token …]';

/** Vehicles of each fleet that get contracts. */
const UNDER_CONTRACT = 12;

const fleetShape = z.object({ id: z.string(), name: z.string() });
const summaryShape = z.object({ summary: z.object({ created: z.number(), existing: z.number() }) });
const anything = z.unknown();

const query =
  '{ fleets { nodes { name vehicleCount eligibilitySummary { eligible ineligible pending unsupported } } } }';

/** Makes what is not there yet, so that it may be run again. */
async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const gateway = await Gateway.open(readOptions(args, gatewayOptions, usage), env);
  const known = await gateway.get('/fleets', z.array(fleetShape));
  for (const demo of demoFleets) {
    const { name } = demo.fields;
    const { id } =
      known.find((fleet) => fleet.name === name) ?? (await gateway.post('/fleets', demo.fields, fleetShape));
    const vins = vinsOf(demo);
    const { summary } = await gateway.post('/vehicles', { fleetId: id, vins }, summaryShape);
    const contracts = await makeContracts(gateway, id, demo);
    console.log(
      `${name} (${id}): ${summary.created} vehicles created, ${summary.existing} were there; ${contracts} contracts created`,
    );
  }
  console.log(`
Their manufacturers are being asked, some of them slowly. Try this in GraphiQL, ${gateway.url}/graphql:

  ${query}

and this, to see answers come:

  subscription { eligibilityChanged { eligibility { vin status manufacturer { name } } } }`);
  return 0;
}

/** Contracts of every status for the first vehicles of a fleet; gives how many are new. */
async function makeContracts(gateway: Gateway, fleetId: string, demo: DemoFleet): Promise<number> {
  const thisYear = new Date().getUTCFullYear();
  let created = 0;
  for (const [index, vin] of vinsOf(demo).slice(0, UNDER_CONTRACT).entries()) {
    const { year, ...fields } = demoContracts[index % demoContracts.length] ?? demoContracts[0];
    const [from, to] = [year, year + 1].map((years) => `${thisYear + years}-01-01T00:00:00Z`);
    try {
      await gateway.post('/contracts', { ...fields, fleetId, vin, from, to }, anything);
      created += 1;
    } catch (error) {
      // An earlier run has created the contract.
      if (!(error instanceof Rejected && error.code === 'CONTRACT_OVERLAP')) throw error;
    }
  }
  return created;
}

await runCommand({ usage }, main);
