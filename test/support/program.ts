import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll } from 'vitest';
import { until } from './until.ts';

interface Program {
  name: string;
  command: readonly [program: string, ...args: string[]];
  isUp: () => Promise<boolean>;
  account?: Pick<SpawnOptions, 'uid' | 'gid'> | undefined;
  /** What ends it at once, with its children. */
  ends?: NodeJS.Signals;
}

/** Runs a server program that is installed, until the end of the test file; resolves when it is up. */
export async function runProgram({ name, command, isUp, account, ends = 'SIGKILL' }: Program): Promise<void> {
  const [program, ...args] = command;
  const child = spawn(program, args, { ...account, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    output += more;
  });
  const closed = once(child, 'close');
  afterAll(async () => {
    child.kill(ends);
    await closed;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${name} did not start:\n${output}`);
    return isUp().catch(() => false);
  });
}
