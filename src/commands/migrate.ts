import { parseArgs } from 'node:util';
import { readSettings, settings } from '../config.ts';
import type { Database } from '../database/database.ts';
import { connectDatabase } from '../database/open.ts';
import { runCommand } from './command.ts';

const usage = `npm run migrate -- up        applies what is pending (the service does so itself when it starts)
npm run migrate -- status    names what is pending; exit code 1 if anything is
On the database of DATABASE_URL, or else on the embedded one in DATA_DIR.`;

/** Not all: a migration may run where the rest of the settings is not at hand. */
const needed = settings.pick({
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_READ_URLS: true,
  DATA_DIR: true,
});

/** Each prints what it did or found, and gives the exit code. */
const commands: Record<string, (database: Database) => Promise<number>> = {
  async up(database) {
    const applied = await database.migrate(console.error);
    console.log(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'Nothing was pending.');
    return 0;
  },
  async status(database) {
    const pending = await database.pendingMigrations();
    console.log(pending.length > 0 ? `Pending: ${pending.join(', ')}.` : 'Nothing is pending.');
    return pending.length > 0 ? 1 : 0;
  },
};

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const command = commands[positionals[0] ?? 'up'];
  if (!command || positionals.length > 1) throw new Error(usage);
  const database = await connectDatabase(readSettings(env, needed));
  return command(database).finally(() => database.close());
}

await runCommand({ usage, failed: 2 }, main);
