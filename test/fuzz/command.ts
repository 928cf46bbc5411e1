/**
 * Sends random requests, with a new seed each time.
 * Run:  npm run fuzz -- [--cases 200000] [--seed 1] [--on embedded|postgresql]
 * Read: each failure has the smallest request that reproduces it; the seed in the first line repeats a run.
 */
import { spawnSync } from 'node:child_process';
import { readOptions, runCommand } from '../../src/commands/command.ts';

const usage = 'Usage: npm run fuzz -- [--cases 200000] [--seed 1] [--on embedded|postgresql]';
const options = {
  cases: { type: 'string', default: '200000' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  on: { type: 'string', default: 'postgresql' },
} as const;

await runCommand({ usage }, async (args) => {
  const values = readOptions(args, options, usage);
  console.log(`npm run fuzz -- --cases ${values.cases} --seed ${values.seed} --on ${values.on}`);
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', `slow-${values.on}`, 'test/slow/fuzz.test.ts'], {
    stdio: 'inherit',
    env: { ...process.env, FUZZ_CASES: values.cases, FUZZ_SEED: values.seed },
  });
  return status ?? 1;
});
