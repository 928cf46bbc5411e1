/**
 * Compares the gateway's answers to random documents with a plain execution of the schema, with a new seed each time.
 * Run:  npm run documents -- [--count 50000] [--seed 1] [--on embedded|postgresql]
 * Read: each failure has a small document that reproduces it; its seed repeats this document alone.
 */
import { spawnSync } from 'node:child_process';
import { readOptions, runCommand } from '../../src/commands/command.ts';

const usage = 'Usage: npm run documents -- [--count 50000] [--seed 1] [--on embedded|postgresql]';
const options = {
  count: { type: 'string', default: '50000' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  on: { type: 'string', default: 'postgresql' },
} as const;

await runCommand({ usage }, async (args) => {
  const values = readOptions(args, options, usage);
  console.log(`npm run documents -- --count ${values.count} --seed ${values.seed} --on ${values.on}`);
  const { status } = spawnSync(
    'npx',
    ['vitest', 'run', '--project', `slow-${values.on}`, 'test/slow/documents.test.ts'],
    { stdio: 'inherit', env: { ...process.env, DOCUMENTS_COUNT: values.count, DOCUMENTS_SEED: values.seed } },
  );
  return status ?? 1;
});
