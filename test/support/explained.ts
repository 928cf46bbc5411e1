import pg from 'pg';
import { vi } from 'vitest';
import type { DatabaseEnv } from './database.ts';
import type { Plan } from './plans.ts';

/** A statement that ran, with its plan. */
export interface Explained {
  'Query Text': string;
  Plan: Plan;
}

/**
 * Has PostgreSQL explain every statement of connections that are opened to this database from now on; gives the list that
 * the plans are added to. To be called before the database is opened.
 */
export async function explainAll(env: DatabaseEnv): Promise<Explained[]> {
  const plans: Explained[] = [];
  const client = pg.Client.prototype as unknown as { _handleNotice(notice: { message?: string }): void };
  const handle = client._handleNotice;
  vi.spyOn(client, '_handleNotice').mockImplementation(function (this: pg.Client, notice) {
    const [, plan] = /plan:\n(\{.*)/s.exec(notice.message ?? '') ?? [];
    if (plan) plans.push(JSON.parse(plan));
    else handle.call(this, notice);
  });
  const server = new pg.Client(env.DATABASE_URL);
  await server.connect();
  for (const [name, value] of Object.entries({
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  })) {
    await server.query(`alter database ${new URL(env.DATABASE_URL ?? '').pathname.slice(1)} set ${name} = '${value}'`);
  }
  await server.end();
  return plans;
}
