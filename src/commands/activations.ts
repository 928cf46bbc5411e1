import { readConfig } from '../config.ts';
import { reportActivations } from '../core/contracts/activation-report.ts';
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
    const { untold, programs } = await reportActivations(database.send, manufacturers, new Date());
    console.log(`CONTRACTS_ACTIVATION is ${config.CONTRACTS_ACTIVATION ? 'on' : 'off'}, on ${name}.`);
    console.log(
      untold.length > 0
        ? '\nContracts in force of which no manufacturer has heard:'
        : '\nNo contract in force waits to be told to its manufacturer.',
    );
    for (const { manufacturer, pack, contracts, vehicles, provider, programs } of untold) {
      const asked = programs
        ? `${provider} is asked for ${programs.filter(Boolean).join(', ') || 'a clearance'}`
        : 'nobody is asked';
      console.log(
        `  ${contracts} of pack ${pack} for ${vehicles} vehicles of ${manufacturer ?? 'unknown makers'}: ${asked}`,
      );
    }
    if (programs.length > 0) console.log('\nPrograms that manufacturers have been asked for:');
    for (const { provider, state, wanted, programs: count, due } of programs)
      console.log(`  ${provider}: ${count} ${state}${wanted ? '' : ', to be ended'}, ${due} of them due`);
    return 0;
  } finally {
    await manufacturers.close();
    await database.close();
  }
}

await runCommand({ usage, failed: 2 }, main);
