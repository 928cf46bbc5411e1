import { type Config, readConfig } from '../config.ts';
import { goneLines, leftLines, planLines, reportActivations } from '../core/activation/activation-report.ts';
import {
  type Auditing,
  auditProvider,
  orderEnds,
  unneededHeader,
  unneededLine,
} from '../core/activation/audit-activations.ts';
import { sandboxFault } from '../core/activation/sandbox-apart.ts';
import { counted } from '../core/counted.ts';
import { connectDatabase, databaseName } from '../database/open-database.ts';
import { openPlaces } from '../fairness/slots.ts';
import { type Manufacturers, openManufacturers, SANDBOX } from '../manufacturers/index.ts';
import { readOptions, runCommand } from './command.ts';

const usage = `npm run activations -- --plan           prints what manufacturers would be asked about the contracts in force, and asks nothing
npm run activations -- --audit          prints as CSV what is active at manufacturers, or about to be, and no contract here needs
npm run activations -- --audit --end    does so, and has the gateway end it
On the database of DATABASE_URL, or else on the embedded one in DATA_DIR while the gateway is stopped.`;

type Opened = Omit<Auditing, 'manufacturers'> & { config: Config; manufacturers: Manufacturers };

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flag = { type: 'boolean' } as const;
  const { plan, audit, end } = readOptions(args, { plan: flag, audit: flag, end: flag }, usage);
  if (plan === audit || (end && !audit)) throw new Error(usage);
  const config = readConfig(env);
  const database = await connectDatabase(config);
  const manufacturers = await openManufacturers(config, { openPlaces });
  try {
    const fault =
      (await database.unready()) ?? (await sandboxFault(database.send, manufacturers, databaseName(config)));
    if (fault !== null) throw new Error(fault);
    const opened = { send: database.send, manufacturers, config, gap: config.ACTIVATION_GAP_MINUTES };
    return await (plan ? printPlan(opened) : printUnneeded(opened, end ?? false));
  } finally {
    await manufacturers.close();
    await database.close();
  }
}

async function printPlan(opened: Opened): Promise<number> {
  const { config } = opened;
  const report = await reportActivations(opened, new Date());
  const lines = planLines(report);
  console.log(`CONTRACTS_ACTIVATION is ${config.CONTRACTS_ACTIVATION ? 'on' : 'off'}, on ${databaseName(config)}.`);
  console.log(
    lines.length > 0
      ? '\nContracts in force that these settings change, or of which no manufacturer has heard:'
      : '\nNo contract in force waits to be told to its manufacturer.',
  );
  for (const line of lines) console.log(`  ${line}`);
  if (report.programs.length > 0) console.log('\nPrograms that manufacturers have been asked for:');
  for (const { provider, state, wanted, programs, due } of report.programs)
    console.log(`  ${provider}: ${programs} ${state}${wanted ? '' : ', to be ended'}, ${due} of them due`);
  for (const line of [...leftLines(report), ...goneLines(report)]) console.log(`\n${line}`);
  return 0;
}

/** Why programs must not be ended by what this database knows; null: they may. */
function endFault({ CONTRACTS_ACTIVATION, INSTALLATION }: Config): string | null {
  if (!CONTRACTS_ACTIVATION) return 'CONTRACTS_ACTIVATION is off, so that no end would be ordered: set it on.';
  if (INSTALLATION)
    return 'Contracts of other installations (INSTALLATIONS) may need these programs: compare the lists of all of them, and end what is in each on the provider’s page.';
  return null;
}

/** What is found goes to the output as CSV, everything else to the errors. */
async function printUnneeded(opened: Opened, isEnd: boolean): Promise<number> {
  const providers = opened.manufacturers.state().flatMap(({ id }) => (opened.manufacturers.activatorOf(id) ? id : []));
  if (providers.length === 0 || providers.includes(SANDBOX))
    throw new Error('No provider is set (HIGH_MOBILITY_…, MERCEDES_…): there is nothing to compare.');
  const fault = isEnd ? endFault(opened.config) : null;
  if (fault !== null) throw new Error(fault);
  let hasFailed = false;
  process.stdout.write(unneededHeader);
  for (const provider of providers) {
    let [listed, found] = [0, 0];
    try {
      for await (const page of auditProvider(opened, provider)) {
        listed += page.listed;
        found += page.found.length;
        for (const one of page.found) process.stdout.write(unneededLine(one));
        if (isEnd && page.found.length > 0) await orderEnds(opened.send, page.found, new Date());
      }
      console.error(
        `${provider}: of ${counted(listed, 'program')}, no contract needs ${found}${isEnd ? ', which end now' : ''}.`,
      );
    } catch (error) {
      hasFailed = true;
      console.error(
        `${provider}: the list broke off after ${counted(listed, 'program')}. ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  return hasFailed ? 2 : 0;
}

await runCommand({ usage, failed: 2 }, main);
