/**
 * Restarts two gateways behind nginx, one after the other, under load: no request may fail.
 * Run:  npx node bench/rolling-restart.ts [--rounds 6] [--clients 16]      (needs nginx: apt-get install nginx-light)
 * Read: requests and failures by request; a failure is a missing response or one other than 2xx. At the end every
 * acknowledged write is looked up. nginx runs with deploy/nginx.conf, except for names and ports; it must not repeat a
 * POST, so a POST that a gateway drops appears as 502.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/postgres-server.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '6' }, clients: { type: 'string', default: '16' } },
});

try {
  execFileSync('nginx', ['-v'], { stdio: 'ignore' });
} catch {
  console.log('skipped: there is no nginx on this machine');
  process.exit(0);
}

await using world = await openWorld();
const gateways = [await world.gateway(), await world.gateway()];
const proxy = `http://127.0.0.1:${await freePort()}`;
const nginx = spawn('nginx', ['-p', world.folder, '-c', configuration(), '-e', join(world.folder, 'error.log')], {
  stdio: 'inherit',
});
const exits: (number | null)[] = [];
const counts = new Map<string, { sent: number; failed: Map<string, number> }>();
const acknowledged: string[] = [];
try {
  await serving(proxy);
  let over = false;
  const load = Promise.all(Array.from({ length: Number(options.clients) }, () => client(() => over)));
  await delay(1_000);
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [index, gateway] of gateways.entries()) {
      exits.push(await gateway.stop('SIGTERM'));
      gateways[index] = await world.gateway({}, gateway.port);
      await delay(500);
    }
  }
  over = true;
  await load;
  await report();
} finally {
  nginx.kill('SIGQUIT');
}

/** Requests of a client, one after the other; a write returns the acknowledged id. */
function requests() {
  const fields = { name: 'Rolling', companyAddress: 'Here 1', email: 'fleet@example.com', vat: 'DE1' };
  const mutation = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }`;
  return {
    'GET /fleets': { path: '/fleets?limit=20' },
    'POST /fleets': { path: '/fleets', body: fields },
    'GraphQL query': { path: '/graphql', body: { query: '{ fleets(first: 20) { nodes { id name } } }' } },
    'GraphQL mutation': { path: '/graphql', body: { query: mutation, variables: { input: fields } } },
  } satisfies Record<string, { path: string; body?: unknown }>;
}

async function client(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (const [name, { path, body }] of Object.entries<{ path: string; body?: unknown }>(requests())) {
      const count = counts.get(name) ?? { sent: 0, failed: new Map<string, number>() };
      counts.set(name, count);
      count.sent += 1;
      const fault = await send(path, body).catch((error: Error) => String(error.cause ?? error));
      if (fault) count.failed.set(fault, (count.failed.get(fault) ?? 0) + 1);
    }
  }
}

/** Sends a request and returns the failure, or null. */
async function send(path: string, body: unknown): Promise<string | null> {
  const answer = await fetch(proxy + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: world.headers('rolling'),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) return String(answer.status);
  const { id, errors, data } = JSON.parse(text);
  if (errors) return errors[0].extensions.code;
  const made = id ?? data?.createFleet?.fleet?.id;
  if (made) acknowledged.push(made);
  return null;
}

async function report(): Promise<void> {
  const rows = await world.sql('select id from fleet');
  const stored = new Set(rows.map(({ id }) => id));
  const missing = acknowledged.filter((id) => !stored.has(id)).length;
  let [sent, failed] = [0, 0];
  for (const [name, count] of counts) {
    const faults = [...count.failed].map(([fault, times]) => `${times} × ${fault}`).join(', ');
    console.log(`${name.padEnd(18)} ${String(count.sent).padStart(6)} requests, failed: ${faults || 'none'}`);
    sent += count.sent;
    failed += count.failed.values().reduce((sum, times) => sum + times, 0);
  }
  console.log(
    `${exits.length} restarts, exit codes ${[...new Set(exits)].join(', ')}: ${failed} of ${sent} requests failed; ` +
      `${missing} of ${acknowledged.length} acknowledged writes are missing, ${stored.size - acknowledged.length + missing} rows were never acknowledged`,
  );
  if (failed > 0 || missing > 0 || exits.some((code) => code !== 0)) process.exitCode = 1;
}

/** deploy/nginx.conf with this machine's addresses, which are not resolved: nginx of Debian 12 cannot. */
function configuration(): string {
  const own = readFileSync('deploy/nginx.conf', 'utf8')
    .replace(/^ *resolver .*$/m, '')
    .replace('gateway-1:4000 resolve', `127.0.0.1:${gateways[0]?.port}`)
    .replace('gateway-2:4000 resolve', `127.0.0.1:${gateways[1]?.port}`)
    .replace('listen 8080', `listen 127.0.0.1:${new URL(proxy).port}`)
    .replace('http {', 'daemon off;\npid nginx.pid;\nhttp {\n  access_log off;');
  const path = join(world.folder, 'nginx.conf');
  writeFileSync(path, own);
  return path;
}

async function serving(url: string): Promise<void> {
  const isUp = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (nginx.exitCode !== null) throw new Error(`nginx ended with ${nginx.exitCode}`);
    await delay(50);
  }
}
