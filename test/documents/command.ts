/**
 * Tries random documents for as long as wanted, other ones each time, against a plain execution of the same schema.
 * Run:  npm run documents -- [--count 50000] [--seed 1] [--on embedded|postgresql]
 * Read: each failure with a small document that shows it; the seed beside it repeats that one alone.
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
