import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { settings } from '../config.ts';
import { distribute } from '../database/citus.ts';
import { connectDatabase, type Database } from '../database/database.ts';
import { runCommand } from './command.ts';

const usage = `npm run migrate -- up        applies what is pending (the service does so itself when it starts)
npm run migrate -- status    names what is pending; exit code 1 if anything is
npm run migrate -- finish    removes what only the version before needs, once none of its processes runs any more
npm run migrate -- distribute  spreads the tables by company over a Citus cluster; DATABASE_URL is its coordinator
On the database of DATABASE_URL, or else on the embedded one in DATA_DIR.`;

/** Each prints what it did or found, and gives the exit code. */
const commands: Record<string, (database: Database) => Promise<number>> = {
  async up(database) {
    const applied = await database.migrate();
    console.log(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'Nothing was pending.');
    return 0;
  },
  async status(database) {
    const pending = await database.pendingMigrations();
    console.log(pending.length > 0 ? `Pending: ${pending.join(', ')}.` : 'Nothing is pending.');
    return pending.length > 0 ? 1 : 0;
  },
  async finish(database) {
    let removed = false;
    for (const { there, remove } of forVersionBefore) {
      const [found] = (await database.send(`select ${there} as there`, [])) as { there: boolean }[];
      if (!found?.there) continue;
      await giveWay(database, remove);
      removed = true;
    }
    console.log(removed ? 'Removed what only the version before needs.' : 'Nothing was left of the version before.');
    return 0;
  },
  async distribute(database) {
    const tables = await distribute(database);
    console.log(tables.length > 0 ? `Distributed ${tables.join(', ')}.` : 'Everything was distributed before.');
    return 0;
  },
};

/** What only the version before needs, with what removes it. */
const forVersionBefore = [
  {
    // Events had positions in one order over all companies (docs/decisions/events.md). Each company goes on after the last of
    // these, since webhooks may be held from it.
    there: `to_regclass('event_position') is not null`,
    remove: `
      update company set position = greatest(position, (select last_value from event_position));
      drop sequence event_position;
      drop index event_position_key`,
  },
  // Triggers counted vehicles, and did more that statements do now (docs/decisions/tallies.md).
  { there: `to_regproc('drop_triggers') is not null`, remove: 'call drop_triggers()' },
  // Indexes whose keys begin without the company (docs/decisions/tenant-keys.md).
  {
    there: `to_regclass('vehicle_by_id') is not null`,
    remove: `drop index contract_due, contract_fleet, contract_vehicle, vehicle_by_id, vehicle_list, vehicle_tally_fleet,
      import_by_id, webhook_by_id`,
  },
];

const ATTEMPTS = 300;

/** Runs statements in a transaction that is kept from a lock for a moment only: whoever comes after it waits behind it. */
async function giveWay(database: Database, statements: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.orm.em.fork().transactional(async (em) => {
        await em.execute(`set local lock_timeout = ${attempt % 10 === 0 ? 1500 : 250}`);
        await em.execute(statements);
      });
    } catch (error) {
      const { code } = error as { code?: unknown };
      if ((code !== '55P03' && code !== '40P01') || attempt === ATTEMPTS) throw error;
    }
    await delay(1000);
  }
}

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const command = commands[positionals[0] ?? 'up'];
  if (!command || positionals.length > 1) throw new Error(usage);
  // Only these are needed: a migration may run where the rest of the settings is not at hand.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const named = { DATABASE_URL: true, DATABASE_DIRECT_URL: true, DATABASE_READ_URLS: true, DATA_DIR: true } as const;
  const config = settings.pick(named).safeParse(given);
  if (!config.success) throw new Error(z.prettifyError(config.error));
  const database = await connectDatabase(config.data);
  return command(database).finally(() => database.close());
}

await runCommand({ usage, failed: 2 }, main);
