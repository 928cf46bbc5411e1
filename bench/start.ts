/**
 * How long `npm start` takes until it serves, on a database that is there already: PostgreSQL, and an embedded folder.
 * Run:  npx node bench/start.ts [--starts 7]
 * Read: the middle, least and most milliseconds from the start of the process to the line that says it is ready; beside
 * the same without what the start before has compiled.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startIssuer } from '../test/support/identity-provider.ts';
import { startServer } from '../test/support/postgres-server.ts';
import { startProcess } from './gateway-process.ts';

const { values: options } = parseArgs({ options: { starts: { type: 'string', default: '7' } } });

const server = await startServer();
const issuer = await startIssuer();
const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-start-'));
const databases: Record<string, NodeJS.ProcessEnv> = {
  PostgreSQL: {
    DATABASE_URL: server.url,
    AUTH_ISSUER: issuer.issuer,
    AUTH_AUDIENCE: issuer.audience,
    CONTRACTS_AUTH: 'required',
  },
  embedded: { DATA_DIR: folder },
};
const ways: Record<string, NodeJS.ProcessEnv> = {
  'as it is': {},
  'compiled anew': { NODE_DISABLE_COMPILE_CACHE: '1' },
};
const times = new Map<string, number[]>();
try {
  for (let round = 0; round <= Number(options.starts); round++) {
    for (const [database, settings] of Object.entries(databases)) {
      for (const [way, more] of Object.entries(ways)) {
        const start = performance.now();
        const gateway = await startProcess({ ...settings, ...more });
        const ms = performance.now() - start;
        await gateway.stop();
        const name = `${database}, ${way}`;
        // The first round makes the database, and what is compiled.
        if (round > 0) times.set(name, [...(times.get(name) ?? []), ms]);
      }
    }
  }
} finally {
  await issuer.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
for (const [name, taken] of times) {
  const sorted = taken.toSorted((a, b) => a - b);
  const [least = 0, middle = 0, most = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  console.log(`${name.padEnd(26)} ${middle.toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)})`);
}
