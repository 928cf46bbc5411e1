import { z } from 'zod';
import { counted } from '../core/counted.ts';
import { readOptions, runCommand } from './command.ts';
import { CallFailed, Gateway, gatewayOptions } from './gateway.ts';

const usage = 'Usage: npm run demo [-- --url http://127.0.0.1:4000 --token …]';

/** `wmis` begin the VINs and tell the brand; `lastDigits` end them and decide the sandbox's answer (docs/reference.md). */
const fleets = [
  {
    fields: { name: 'Field service Berlin', companyAddress: 'Invalidenstraße 44, 10115 Berlin' },
    wmis: ['WBA', 'WDB', 'WVW', 'VF1', 'VF3', 'W0L', 'TMB', 'YV1'],
    lastDigits: '0123456',
    vehicles: 120,
  },
  {
    fields: { name: 'Flotte Genève', companyAddress: 'Rue de Lausanne 72, 1202 Genève' },
    wmis: ['VF7', 'ZFA', 'ZAR', 'VF3', 'WMW', 'JTD', 'SAJ', 'ZAC'],
    lastDigits: '0123457',
    vehicles: 80,
  },
  {
    fields: { name: 'Pool cars, slow to answer', companyAddress: '1 Main Street, Rotterdam' },
    wmis: ['WBA', 'WF0', 'WDB', 'KMH'],
    lastDigits: '8879',
    vehicles: 240,
  },
  {
    fields: { name: 'Management', companyAddress: 'Maximilianstraße 1, 80539 München' },
    wmis: ['ZFF', 'WP0', 'WBS', '5YJ', 'AAA'],
    lastDigits: '0',
    vehicles: 15,
  },
];

/** The VINs of the fleet with this serial number, always the same ones. */
const vinsOf = ({ wmis, lastDigits, vehicles }: (typeof fleets)[number], serial: number): string[] =>
  Array.from({ length: vehicles }, (_, index) => {
    const wmi = wmis[index % wmis.length];
    const digit = lastDigits[Math.floor(index / wmis.length) % lastDigits.length];
    return `${wmi}DEM0${String(serial).padStart(3, '0')}${String(index).padStart(6, '0')}${digit}`;
  });

/** One of each status, by the year that the period begins in; every fleet's first vehicles get them in turn. */
const contracts = [
  { name: 'Telematics', description: 'Mileage and location', pack: 'basic', year: 0 },
  { name: 'Telematics', description: 'Mileage and location, the year before', pack: 'basic', year: -1 },
  { name: 'Driving log', description: 'Trips for the driving log', pack: 'driving-log', year: 0 },
  { name: 'Charging', description: 'Battery and charging, from next year', pack: 'charging', year: 1 },
] as const;

const VEHICLES_UNDER_CONTRACT = 12;

const fleetShape = z.object({ id: z.string(), name: z.string() });
const summaryShape = z.object({ summary: z.object({ created: z.number(), existing: z.number() }) });

const query =
  '{ fleets { nodes { name vehicleCount eligibilitySummary { eligible ineligible pending unsupported } } } }';

/** Makes what is not there yet, so that it may be run again. */
async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const gateway = await Gateway.open(readOptions(args, gatewayOptions, usage), env);
  const known = await gateway.get('/fleets', z.array(fleetShape));
  for (const [index, fleet] of fleets.entries()) {
    const fields = { ...fleet.fields, email: 'fleet@demo.example', vat: 'DE123456789' };
    const { name } = fields;
    const { id } = known.find((one) => one.name === name) ?? (await gateway.post('/fleets', fields, fleetShape));
    const vins = vinsOf(fleet, index + 1);
    const { summary } = await gateway.post('/vehicles', { fleetId: id, vins }, summaryShape);
    const made = await makeContracts(gateway, id, vins.slice(0, VEHICLES_UNDER_CONTRACT));
    console.log(
      `${name} (${id}): ${counted(summary.created, 'vehicle')} created, ${summary.existing} there before; ${counted(made, 'contract')} created`,
    );
  }
  console.log(`
Their manufacturers are being asked, some of them slowly. Try this in GraphiQL, ${gateway.url}/graphql:

  ${query}

and this, to see answers come:

  subscription { eligibilityChanged { eligibility { vin status manufacturer { name } } } }`);
  return 0;
}

/** Contracts of every status for these vehicles; gives how many are new. */
async function makeContracts(gateway: Gateway, fleetId: string, vins: readonly string[]): Promise<number> {
  const thisYear = new Date().getUTCFullYear();
  let created = 0;
  for (const [index, vin] of vins.entries()) {
    const { year, ...fields } = contracts[index % contracts.length] ?? contracts[0];
    const [from, to] = [year, year + 1].map((years) => `${thisYear + years}-01-01T00:00:00Z`);
    try {
      await gateway.post('/contracts', { ...fields, fleetId, vin, from, to }, z.unknown());
      created += 1;
    } catch (error) {
      // An earlier run has created the contract.
      if (!(error instanceof CallFailed && error.problem?.code === 'CONTRACT_OVERLAP')) throw error;
    }
  }
  return created;
}

await runCommand({ usage }, main);
