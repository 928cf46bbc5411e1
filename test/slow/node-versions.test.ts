// `npm start` by a Node that is too old or cannot run.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** The Node that runs npm: the machine's, not the lockfile's. */
const npmNode = process.env.npm_node_execpath ?? process.execPath;
const version = async (node: string) => Number((await run(node, ['-p', 'parseInt(process.versions.node)'])).stdout);

/** A clone whose packages contain no working Node; `node` is the file in its place. */
async function clone(node?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'src'), join(folder, 'src'));
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  if (node === undefined) return folder;
  await writeFile(join(folder, 'node_modules/.bin/node'), node);
  await chmod(join(folder, 'node_modules/.bin/node'), 0o755);
  return folder;
}

/** The output of `npm <args>`, which must fail, without this project's bin folders. */
async function failure(folder: string, args: string[]) {
  const PATH = [dirname(npmNode), '/usr/bin', '/bin'].join(delimiter);
  const failed = await run('npm', args, {
    cwd: folder,
    env: { PATH, HOME: folder, npm_config_update_notifier: 'false' },
  }).catch((error) => error);
  return { code: failed.code, output: `${failed.stdout}${failed.stderr}` };
}

test.skipIf((await version(npmNode)) >= 24).each(['start', 'token', 'migrate'])(
  'on an older Node, npm run %s names the required version',
  async (script) => {
    const { code, output } = await failure(await clone(), ['run', script]);
    expect([code, output]).toEqual([1, expect.stringMatching(/Fleet Gateway needs Node 24\.6 or newer; this is v\d+/)]);
    expect(output).not.toMatch(/SyntaxError|at .*:\d+:\d+/);
  },
);

test.skipIf(process.platform === 'win32')('if the Node of the packages cannot run, npm start says so', async () => {
  // On Alpine, the interpreter that the file names is missing.
  const { code, output } = await failure(await clone('#!/lib64/ld-linux-of-another-libc.so\n'), ['start']);
  expect(code).not.toBe(0);
  expect(output).toContain('npm ci --omit=optional');
});
