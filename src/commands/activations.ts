import { readConfig } from '../config.ts';
import { goneLines, planLines, reportActivations } from '../core/contracts/activation-report.ts';
import { sandboxFault } from '../core/contracts/sandbox-apart.ts';
import { connectDatabase, databaseName } from '../database/open-database.ts';
import { openManufacturers } from '../manufacturers/open-manufacturers.ts';
import { readOptions, runCommand } from './command.ts';

const usage = `npm run activations -- --plan    prints what manufacturers would be asked about the contracts in force, and asks nothing
On the database of DATABASE_URL, or else on the embedded one in DATA_DIR while the gateway is stopped.`;

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { plan } = readOptions(args, { plan: { type: 'boolean' } }, usage);
  if (!plan) throw new Error(usage);
  const config = readConfig(env);
  const database = await connectDatabase(config);
  const manufacturers = await openManufacturers(config);
  try {
    const name = databaseName(config);
    const fault = (await database.unready()) ?? (await sandboxFault(database.send, manufacturers, name));
    if (fault !== null) throw new Error(fault);
    const report = await reportActivations(database.send, manufacturers, new Date());
    const lines = planLines(report);
    console.log(`CONTRACTS_ACTIVATION is ${config.CONTRACTS_ACTIVATION ? 'on' : 'off'}, on ${name}.`);
    console.log(
      lines.length > 0
        ? '\nContracts in force that these settings change, or of which no manufacturer has heard:'
        : '\nNo contract in force waits to be told to its manufacturer.',
    );
    for (const line of lines) console.log(`  ${line}`);
    if (report.programs.length > 0) console.log('\nPrograms that manufacturers have been asked for:');
    for (const { provider, state, wanted, programs, due } of report.programs)
      console.log(`  ${provider}: ${programs} ${state}${wanted ? '' : ', to be ended'}, ${due} of them due`);
    for (const line of goneLines(report)) console.log(`\n${line}`);
    return 0;
  } finally {
    await manufacturers.close();
    await database.close();
  }
}

await runCommand({ usage, failed: 2 }, main);
