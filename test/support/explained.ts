import pg from 'pg';
import { vi } from 'vitest';
import type { Database, TextRow } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { asAdmin, type DatabaseEnv, databaseConfig, databaseEnv } from './database.ts';
import { type Gateway, startGateway } from './gateway.ts';
import type { Plan } from './plans.ts';

/** A statement with its plan, as PostgreSQL explains it after running it. */
export interface Explained {
  'Query Text': string;
  Plan: Plan;
}

const { connect } = pg.Client.prototype;
/** The plans of each database whose statements are explained. */
const lists = new Map<string | undefined, Explained[]>();

/**
 * Makes PostgreSQL explain every statement of connections that are opened to this database from now on; returns the
 * list to which the plans are added. Call it before the database is opened.
 */
export async function explainAll(env: DatabaseEnv): Promise<Explained[]> {
  const plans: Explained[] = [];
  const name = new URL(env.DATABASE_URL ?? '').pathname.slice(1);
  lists.set(name, plans);
  vi.spyOn(pg.Client.prototype, 'connect').mockImplementation(function (this: pg.Client, then) {
    this.on('notice', ({ message }) => {
      const [, plan] = /plan:\n(\{.*)/s.exec(message ?? '') ?? [];
      if (plan) lists.get(this.database)?.push(JSON.parse(plan));
    });
    return connect.call(this, then);
  });
  const server = new pg.Client(asAdmin(env));
  await server.connect();
  for (const [setting, value] of Object.entries({
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  })) {
    await server.query(`alter database ${name} set ${setting} = '${value}'`);
  }
  await server.end();
  return plans;
}

/** Makes the embedded database explain each statement, on the connection that runs the statement. */
function explainEach(database: Database, plans: Explained[]): Database {
  const explained =
    <Args extends unknown[], Result>(
      run: (text: string, values: readonly unknown[], ...args: Args) => Promise<Result>,
    ) =>
    async (text: string, values: readonly unknown[], ...args: Args) => {
      const explain = `explain (analyze, buffers, timing off, format json) ${text}`;
      const how = { newest: true, asTexts: true, seconds: 60, signal: undefined };
      const [row] = (await database.slowRead(explain, values, how)) as TextRow[];
      const [{ Plan }] = JSON.parse(row?.[0] ?? '');
      plans.push({ 'Query Text': text, Plan });
      return run(text, values, ...args);
    };
  return { ...database, read: explained(database.read), slowRead: explained(database.slowRead) };
}

/** Starts a gateway whose database explains every statement; `seen` collects the plans. */
export async function startExplained(
  settings: Record<string, string> = {},
): Promise<{ gateway: Gateway; seen: Explained[] }> {
  const env = await databaseEnv();
  const isServer = env.DATABASE_URL !== undefined;
  const seen = isServer ? await explainAll(env) : [];
  const opened = await openDatabase(databaseConfig(env));
  const database = env.DATABASE_URL === undefined ? explainEach(opened, seen) : opened;
  return { gateway: await startGateway({ on: { env, database }, settings }), seen };
}
