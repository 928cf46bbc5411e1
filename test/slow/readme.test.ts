// The README's tour from first to last block.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';
import { databaseEnv } from '../support/database.ts';
import { spawnGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '../..');
const { kind } = inject('database');
const env = await databaseEnv();

/** The expected output of each block, and its exit code, in the README's order. */
const expected: { says: RegExp; code?: number }[] = [
  { says: /120 vehicles created.*eligibilityChanged/s },
  { says: /^$/ },
  { says: /^$/ },
  { says: /"created":\s*3.*VIN_INVALID_CHARACTER/s },
  { says: /"status":\s*"ELIGIBLE"/ },
  { says: /error_code.*VIN_INVALID_CHARACTER/s },
  { says: /2 rows in .*: 0 created, 1 existing, 1 rejected.*vins\.rejected\.csv/s, code: 1 },
  { says: /"pack":\s*"basic"/ },
  { says: /"state":\s*"(PENDING|ACTIVE)"/ },
  { says: /"totalCount":\s*5.*"name":\s*"Berlin"/s },
  { says: /"vehicles":.*"status":\s*"(FAILED|INELIGIBLE)".*"actor":\s*"[A-Z]+","message"/s },
  { says: /"name":\s*"Berlin"/ },
];

/** Runs a script in a folder that looks like the project's, and returns its output. */
async function bash(script: string, settings: NodeJS.ProcessEnv): Promise<string> {
  const folder = mkdtempSync(join(inject('database').folder, 'tour-'));
  for (const name of ['package.json', 'node_modules', 'src', 'tsconfig.json']) {
    symlinkSync(join(root, name), join(folder, name));
  }
  const { PATH, HOME } = process.env;
  const shell = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { PATH, HOME, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  return output + errors;
}

// The tour uses a gateway with default settings: the embedded database, and its own tokens.
test.runIf(kind === 'embedded')("README's tour works from its first block to its last", async () => {
  const gateway = await spawnGateway(env);
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/<!-- tour -->\n```sh\n(.*?)```/gs)].map(([, block]) => block ?? '');
  expect(blocks).toHaveLength(expected.length);
  const script = blocks.map((block) => `${block}printf '\\n--- exit %s ---\\n' $?\n`).join('');
  const output = await bash(script.replaceAll('http://127.0.0.1:4000', gateway.url), {
    DATA_DIR: env.DATA_DIR,
    FLEET_GATEWAY_URL: gateway.url,
  });
  const parts = output.split(/\n--- exit (\d+) ---\n/);
  for (const [index, { says, code = 0 }] of expected.entries()) {
    const [printed, exit] = parts.slice(2 * index);
    expect({ block: blocks[index], printed, exit }).toMatchObject({
      printed: expect.stringMatching(says),
      exit: String(code),
    });
  }
});
