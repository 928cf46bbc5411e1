import { mistakenNames, readSettings, settings } from '../config.ts';
import { connectDatabase, databaseName } from '../database/open-database.ts';
import { readArguments, runCommand } from './command.ts';

const usage = `npm run migrate -- up        applies what is pending (the service does so itself when it starts)
npm run migrate -- status    names what is pending; exit code 1 if anything is
On the database of DATABASE_URL, or else on the embedded one in DATA_DIR.`;

/** The settings that a migration needs: the others may not be at hand where it runs. */
const used = settings.pick({ DATABASE_URL: true, DATABASE_DIRECT_URL: true, DATABASE_READ_URLS: true, DATA_DIR: true });

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { positionals } = readArguments(args, {}, usage);
  const [command = 'up', ...others] = positionals;
  if (!['up', 'status'].includes(command) || others.length > 0) throw new Error(usage);
  for (const mistake of mistakenNames(env)) console.error(mistake);
  const config = readSettings(env, used);
  const name = databaseName({ ...config, DATABASE_URL: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL });
  const database = await connectDatabase(config);
  try {
    const isUp = command === 'up';
    const names = await (isUp ? database.migrate(console.error) : database.pendingMigrations());
    const [some, none] = isUp ? ['Applied', 'Nothing was pending'] : ['Pending:', 'Nothing is pending'];
    console.log(`${names.length > 0 ? `${some} ${names.join(', ')}` : none} in ${name}.`);
    if (!isUp && names.length > 0) return 1;
    const fault = await database.unready();
    if (fault !== null) console.log(fault);
    return fault === null ? 0 : 1;
  } finally {
    await database.close();
  }
}

await runCommand({ usage, failed: 2 }, main);
