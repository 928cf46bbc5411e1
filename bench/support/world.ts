import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startIssuer } from '../../test/support/identity-provider.ts';
import { durable, freePort, startServer } from '../../test/support/postgres-server.ts';

/** A server process, with the same port after a restart. */
export interface ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly pid: number;
  /** Sends the signal; returns the exit code, or null if the signal killed the process. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export interface WorldOptions {
  /** The version of PostgreSQL, or the folder of its binaries; null for no server. */
  postgres?: string | null;
  /** Settings of PostgreSQL that differ from its defaults. */
  server?: Record<string, string>;
  /** Whether other companies send requests, too; false where an idle gateway is measured. */
  others?: boolean;
}

export type World = Awaited<ReturnType<typeof openWorld>>;
export type PostgresServer = Awaited<ReturnType<typeof startServer>>;

const TMPFS = 0x01021994;
/** In no installation is a company alone, which would take no turns: these send a small request from the first second on. */
const OTHERS = ['beside-0', 'beside-1'];
const OTHERS_MS = 1_000;
/** Lifetime of tokens, longer than any bench. */
const LIFETIME_SECONDS = 86_400;

/**
 * The surroundings of gateways: PostgreSQL without TLS (it waits for its disk, which must be a real one), an
 * issuer of tokens, and a folder. `await using` stops the processes and removes the files.
 */
export async function openWorld({ postgres, server: overrides = {}, others = true }: WorldOptions = {}) {
  if (statfsSync(tmpdir()).type === TMPFS) throw new Error(`${tmpdir()} is no disk: set TMPDIR to a folder on one`);
  const server =
    postgres === null ? null : await startServer({ ...durable, ...overrides }, { version: postgres, tls: false });
  const issuer = await startIssuer();
  const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-bench-'));
  const { url, admin } = server ?? { url: '', admin: '' };
  const identity = { AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience, CONTRACTS_AUTH: 'required' };
  const settings = { DATA_DIR: folder, ...(server && { DATABASE_URL: url, SANDBOX: 'on', ...identity }) };
  const started: ServerProcess[] = [];
  const tokens = new Map<string, string>();
  // Ends the processes of a bench that is interrupted.
  process.once('exit', () => started.forEach(({ child }) => void child.kill('SIGKILL')));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const start = async (args: string[], env: NodeJS.ProcessEnv, port?: number) => {
    const one = await startProcess(args, env, folder, port);
    started.push(one);
    return one;
  };
  const addOthers = async (url: string) => {
    const body = JSON.stringify({ query: '{ __typename }' });
    const send = async (company: string) =>
      (await fetch(`${url}/graphql`, { method: 'POST', headers: headers(company), body })).arrayBuffer();
    // A bench may have stopped the gateway.
    const sendAll = () => Promise.all(OTHERS.map(send)).catch(() => {});
    await sendAll();
    setInterval(sendAll, OTHERS_MS).unref();
  };
  return {
    /** The PostgreSQL server; undefined with the embedded database. */
    server: server as PostgresServer,
    url,
    /** The same database by its administrator, with PostgreSQL's own defaults. */
    admin,
    issuer,
    folder,
    /** Settings that name the issuer; empty with the embedded database. */
    identity,
    /** Starts a gateway as `npm start` does, with additional settings; resolves when it is ready. */
    async gateway(own: NodeJS.ProcessEnv = {}, port?: number) {
      const gateway = await start(startArguments(), { ...settings, ...own }, port);
      if (others && server) await addOthers(gateway.url);
      return gateway;
    },
    /** Starts another server, which must listen on PORT and print "ready on" with its address. */
    process: (args: string[], env: NodeJS.ProcessEnv = {}) => start(args, env),
    /** Headers of a client of this company, always with the same token. */
    headers,
    newToken,
    /** Runs a statement on a new connection of the administrator and returns the rows. */
    sql: (statement: string, values: unknown[] = []) => sql(admin, statement, values),
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((one) => one.stop('SIGKILL')));
      await issuer.stop();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function headers(company: string) {
    const token = tokens.get(company) ?? newToken(company);
    tokens.set(company, token);
    return { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  }

  function newToken(company: string, claims: Record<string, unknown> = {}): string {
    return issuer.sign({ company, exp: Math.floor(Date.now() / 1000) + LIFETIME_SECONDS, ...claims });
  }
}

/** Runs a statement on a new connection and returns the rows. */
export async function sql(url: string, statement: string, values: unknown[] = []) {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return (await client.query(statement, values).finally(() => client.end())).rows;
}

/** Migrates a database, as `npm run migrate` does. */
export function migrate(url: string): void {
  execFileSync(process.execPath, scriptArguments('migrate'), { env: { ...process.env, DATABASE_URL: url } });
}

/** Starts a process with its output in a file: reading a pipe would cost time in the measuring process. */
async function startProcess(
  args: string[],
  env: NodeJS.ProcessEnv,
  folder: string,
  given?: number,
): Promise<ServerProcess> {
  const port = given ?? (await freePort());
  const output = join(folder, `${port}-${performance.now()}.log`);
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, PORT: String(port) },
    stdio: ['ignore', openSync(output, 'a'), 'inherit'],
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  let ending = false;
  child.once('exit', (code, signal) => {
    if (!ending) console.error(`${args.at(-1)} ended by itself: exit code ${code}, signal ${signal}`);
  });
  while (!/ready on http/.test(readFileSync(output, 'utf8'))) {
    if (child.exitCode !== null) throw new Error(`${args.at(-1)} ended with ${child.exitCode} before it was ready.`);
    await delay(2);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    child,
    pid: child.pid as number,
    stop(signal = 'SIGTERM') {
      ending = true;
      child.kill(signal);
      return exited;
    },
  };
}

/** The arguments of `npm start`, with BENCH_NODE_ARGS instead of its flags, if set. */
function startArguments(): string[] {
  const flags = process.env.BENCH_NODE_ARGS;
  const args = scriptArguments('start');
  return flags === undefined ? args : [...flags.split(' ').filter(Boolean), args.at(-1) ?? ''];
}

/** The arguments that a script of package.json passes to node. */
function scriptArguments(name: 'start' | 'migrate'): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<typeof name, string> };
  // A script may check the version of Node first.
  const [, command = ''] = /.*\bnode (.*)$/.exec(scripts[name]) ?? [];
  return command.split(' ');
}
