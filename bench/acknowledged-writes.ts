/**
 * Whether anything that was acknowledged is ever lost, or done twice, while gateway and database are killed with -9.
 * Run:  npx node bench/acknowledged-writes.ts [--kills 20] [--writes 1000] [--database embedded]
 * Read: a round is `writes` fleets, made by both faces with Idempotency-Keys and retries, while at a random moment
 * something is killed and started again: the gateway, the whole server, or one of its backends, in turn (embedded: the one
 * process). "missing" was answered with 2xx and is not there; "twice" and "changed" should be 0 as well.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { difference, writeAll } from '../test/support/acknowledged-writes.ts';
import { startIssuer } from '../test/support/identity-provider.ts';
import { durable, startServer } from '../test/support/postgres-server.ts';
import { freePort, startProcess } from './gateway-process.ts';

const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    writes: { type: 'string', default: '1000' },
    database: { type: 'string', default: 'postgresql' },
  },
});
const LONGEST_BEFORE_KILL_MS = 1_500;

const server = options.database === 'embedded' ? null : await startServer(durable);
const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-bench-'));
const issuer = await startIssuer();
const port = await freePort();
const start = () =>
  startProcess(
    {
      AUTH_ISSUER: issuer.issuer,
      AUTH_AUDIENCE: issuer.audience,
      CONTRACTS_AUTH: 'required',
      DATA_DIR: folder,
      ...(server && { DATABASE_URL: server.url }),
    },
    port,
  );
let gateway = await start();

const killings: Record<string, () => Promise<void>> = {
  async gateway() {
    await gateway.stop('SIGKILL');
    gateway = await start();
  },
  ...(server && {
    async server() {
      await server.end('SIGKILL');
      await server.start();
    },
    async backend() {
      const rows = await sql(`select pid from pg_stat_activity where application_name = 'fleet-gateway'`);
      process.kill(rows[Math.floor(Math.random() * rows.length)].pid, 'SIGKILL');
    },
  }),
};
const totals = { acknowledged: 0, retried: 0, missing: 0, twice: 0, changed: 0, faults: 0 };
const headers = () => ({ authorization: `Bearer ${issuer.sign({ company: 'writes' })}` });
try {
  for (let kill = 0; kill < Number(options.kills); kill++) {
    const [victim, strike] = Object.entries(killings)[kill % Object.keys(killings).length] ?? [];
    const writing = writeAll({ url: gateway.url, headers, writes: Number(options.writes) });
    await delay(Math.random() * LONGEST_BEFORE_KILL_MS);
    await strike?.();
    const written = await writing;
    const lost = difference(written, await stored());
    const round = {
      acknowledged: written.acknowledged.size,
      retried: written.retried,
      ...lost,
      faults: written.faults.length,
    };
    for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += round[key];
    console.log(
      `${String(kill + 1).padStart(3)} kill -9 of the ${victim}:`,
      JSON.stringify(round),
      ...new Set(written.faults),
    );
  }
  console.log('in all:', JSON.stringify(totals));
  if (totals.missing + totals.twice + totals.changed + totals.faults > 0) process.exitCode = 1;
} finally {
  await gateway.stop('SIGKILL');
  await issuer.stop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Every fleet, straight from the tables; of the embedded database, which has one user at a time, by the gateway. */
async function stored(): Promise<{ id: string; name: string }[]> {
  if (server) return sql('select id, name from fleet');
  return (await fetch(`${gateway.url}/fleets`, { headers: headers() })).json() as Promise<
    { id: string; name: string }[]
  >;
}

async function sql(statement: string) {
  const client = new pg.Client(server?.url);
  client.on('error', () => {});
  await client.connect();
  return (await client.query(statement).finally(() => client.end())).rows;
}
