import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, chownSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority } from './certificate.ts';
import { administrative, at, createDatabase, createRoles, PASSWORD, type Roles, rolesOf } from './operator.ts';
import { BUNDLED, binaries, unprivilegedAccount } from './postgres-binaries.ts';
import { prefix, removeLeftovers } from './postgres-leftovers.ts';

export interface Server {
  /** A service's own database, by its own role: what `DATABASE_URL` is. */
  readonly url: string;
  /** The same database by its direct role and by the role that reads on replicas. */
  readonly direct: string;
  readonly replica: string;
  /** The same database by the administrator, with PostgreSQL's own defaults. */
  readonly admin: string;
  /** The authority of the server's certificate; undefined without TLS. */
  readonly authority: Authority | undefined;
  /** Makes another database of the same roles, and gives its addresses. */
  database(name: string): Promise<Addresses>;
  /** The folder of its socket. */
  readonly folder: string;
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

/** PostgreSQL's own defaults, for data that must survive a crash. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

interface Cluster {
  folder: string;
  bin: string;
  run: { uid?: number; gid?: number; cwd: string; env: NodeJS.ProcessEnv };
  account: { uid: number; gid: number } | undefined;
  authority: Authority | undefined;
}

interface ServerOptions {
  /** Mounts a disk at the data directory, and gives a function that unmounts it. */
  prepare?: (data: string, account: Cluster['account']) => () => void;
  /** A number, or the folder of a server's binaries. */
  version?: string | undefined;
  tls?: boolean;
}

/** Starts a PostgreSQL server in a temporary folder, as a careful operator does. `overrides` replaces settings. */
export async function startServer(
  overrides: Record<string, string> = {},
  { prepare = () => () => {}, version = process.env.TEST_POSTGRESQL || BUNDLED, tls = true }: ServerOptions = {},
): Promise<Server> {
  await removeLeftovers();
  // The folder's name holds the process id, so that a later run can remove leftovers.
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const data = join(folder, 'data');
  const account = unprivilegedAccount();
  if (account) chownSync(folder, account.uid, account.gid);
  const bin = version.includes('/') ? version : await binaries(version, folder, account !== undefined);
  // Its own home: as a subscriber, it looks there for certificates.
  const run = { ...account, cwd: folder, env: { ...process.env, LC_ALL: 'C', HOME: folder } };
  const discard = prepare(data, account);
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, PASSWORD);
  const authority = tls ? new Authority(folder) : undefined;
  const { key, certificate } = authority?.issue('localhost') ?? {};
  for (const file of [passwordFile, key]) if (file && account) chownSync(file, account.uid, account.gid);
  const sure = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', ...sure, '--encoding=UTF8', '--no-locale', '--no-sync'],
    { ...run, stdio: 'pipe' },
  );
  const secure = authority && {
    ssl: 'on',
    ssl_key_file: key,
    ssl_cert_file: certificate,
    ssl_ca_file: authority.certificate,
  };
  const cluster: Cluster = { folder, bin, run, account, authority };
  const server = await runServer(cluster, data, { ...secure, ...overrides }, () => {
    discard();
    rmSync(folder, { recursive: true, force: true });
  });
  await createDatabase(at(server.admin, 'postgres'), DATABASE, await createRoles(at(server.admin, 'postgres')));
  return server;
}

/** The database of a server's only service. */
const DATABASE = 'fleets';

type Addresses = Pick<Server, 'url' | 'direct' | 'replica' | 'admin'>;

/** Addresses of a database for everybody. */
export const addressesOf = (admin: string, database: string, roles: Roles): Addresses => ({
  url: at(admin, database, roles.service),
  direct: at(admin, database, roles.direct),
  replica: at(admin, database, roles.replica),
  admin: at(admin, database),
});

async function runServer(
  cluster: Cluster,
  data: string,
  overrides: Record<string, string>,
  remove: () => void,
): Promise<Server> {
  const { folder, bin, run, account, authority } = cluster;
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
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
  const admin = new URL(`postgresql://postgres:${encodeURIComponent(PASSWORD)}@localhost:${port}/${DATABASE}`);
  if (authority)
    admin.search = `${new URLSearchParams({ sslmode: 'verify-full', sslrootcert: authority.certificate })}`;
  const addresses = addressesOf(administrative(admin.href), DATABASE, rolesOf());
  return {
    ...addresses,
    async database(name) {
      await createDatabase(addresses.admin, name, rolesOf());
      return addressesOf(addresses.admin, name, rolesOf());
    },
    data,
    account,
    authority,
    folder,
    start,
    end,
    async standby(own = {}, url = admin.href) {
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
  const credentials = `user=postgres password=''${PASSWORD}''`;
  const connection = `host=127.0.0.1 port=${new URL(url).port} ${credentials} application_name=standby`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
  writeFileSync(join(data, 'standby.signal'), '');
}

/** Ids of the direct child processes of `pid`. */
export const childrenOf = (pid: number | undefined): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));

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
