import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, inject, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { ChangeFeed } from '../../src/core/changes.ts';
import { contextOf } from '../../src/core/context.ts';
import { Followers } from '../../src/core/followers.ts';
import { FileReaders } from '../../src/core/imports/file-readers.ts';
import { openFence } from '../../src/core/moves/fence.ts';
import type { Database } from '../../src/database/database.ts';
import { openFairness } from '../../src/fairness/places.ts';
import { openPlaces } from '../../src/fairness/slots.ts';
import { graphqlWebSockets } from '../../src/graphql/transport/web-socket.ts';
import { openServer } from '../../src/http/connections/open-server.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';
import { type HttpServices, RateLimit } from '../../src/http/request-context.ts';
import { activityOf } from '../../src/jobs/job.ts';
import { startRunner } from '../../src/jobs/runner.ts';
import { openManufacturers } from '../../src/manufacturers/open-manufacturers.ts';
import type { Manufacturers } from '../../src/manufacturers/registry.ts';
import { traced } from '../../src/telemetry/telemetry.ts';
import { Client, type Headed } from './client.ts';
import { type DatabaseEnv, testDatabase } from './database.ts';
import { type Issuer, startIssuer } from './identity-provider.ts';
import type { UpstreamServer } from './upstream.ts';

export interface GatewayOptions {
  /** Settings by the names of environment variables. */
  settings?: NodeJS.ProcessEnv;
  /** The issuer of tokens; without one the gateway issues its own, as in development. */
  issuer?: Issuer;
  /** A database to share with another gateway; by default the gateway gets its own. */
  on?: { env: DatabaseEnv; database: Database };
  /** Whether background jobs run. */
  workers?: boolean;
  /** Replaces the providers that the settings name. */
  manufacturers?: Manufacturers;
}

export interface Gateway {
  url: string;
  env: DatabaseEnv;
  database: Database;
  services: HttpServices;
  /** A client of this company. */
  as(company: string, claims?: Record<string, unknown>): Promise<Client>;
  /** A client without a token. */
  anyone: Client;
  /** Moves the service's clock forward, so that later work is due now. */
  passTime(ms: number): void;
  /** Runs a statement directly on the database, for state that the API neither shows nor sets. */
  execute<Row = Record<string, unknown>>(statement: string): Promise<Row[]>;
  /** Ends background jobs and the server before the test file ends. */
  close(): Promise<void>;
}

/** Starts the service in this process, on a port, until the test file ends. Call it at the top level of the file. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { env, database } = options.on ?? (await testDatabase());
  const { issuer } = options;
  const config = readConfig({
    LOG_LEVEL: 'silent',
    // Reads wait for as long as a busy machine takes; tests of the limit set their own value.
    LIMIT_STATEMENT_SECONDS: '60',
    ...options.settings,
    DATA_DIR: env.DATA_DIR,
    ...(issuer && { AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience }),
  });
  const log = pino({ level: config.LOG_LEVEL });
  const changes = await ChangeFeed.open(database);
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const manufacturers =
    options.manufacturers ?? (await openManufacturers(config, { openPlaces, trace: traced }, clock));
  const files = new FileReaders(config, manufacturers.supported);
  const authenticator = await openAuthenticator(config);
  const ending = new AbortController().signal;
  const followers = new Followers(changes, config.LIMIT_CONNECTIONS);
  const fence = await openFence({ config, database, changes });
  const fairness = openFairness();
  const grown = { rows: 0 };
  const core = { config, database, changes, followers, manufacturers, files, clock, fairness, fence, grown };
  const rateLimit = new RateLimit(config.RATE_LIMIT_PER_MINUTE);
  const services = { ...core, authenticator, log, rateLimit, ending };
  const server = openServer(createApp(services), graphqlWebSockets(services), config, log).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = () => contextOf(services, 'job', null);
  const runner = options.workers ? startRunner({ open, changes, log, activity: activityOf(server) }) : null;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  let closing: Promise<void> | undefined;
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await manufacturers.close();
    await runner?.stop();
    await fence?.close();
    changes.close();
  };
  const closeOnce = () => {
    closing ??= close();
    return closing;
  };
  afterAll(closeOnce);
  return {
    url,
    env,
    database,
    services,
    async as(company, claims = {}) {
      const token = issuer ? issuer.sign({ company, ...claims }) : await authenticator.issue?.({ company, ...claims });
      return new Client(url, bearer(token ?? ''));
    },
    anyone: new Client(url),
    passTime(ms) {
      aheadMs += ms;
      // Makes every job look for due work.
      changes.emit('missed');
    },
    execute: (statement) => database.orm.em.fork().execute(statement),
    close: closeOnce,
  };
}

export const bearer = (token: string): Headed => ({ authorization: `Bearer ${token}` });

/** Settings that replace High Mobility by this upstream. */
export const askingAt = ({ url }: Pick<UpstreamServer, 'url'>): NodeJS.ProcessEnv => ({
  HIGH_MOBILITY_URL: url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
});

/** A gateway in its own process, as in production. */
export interface SpawnedGateway {
  process: ChildProcess;
  url: string;
  as(company: string): Client;
  /** A client without a token. */
  anyone: Client;
  /** The process's output so far, stdout and stderr. */
  output(): string;
  /** The exit code, once all processes of the group have ended; null if a signal killed it. */
  exited: Promise<number | null>;
  /** Signals the process group (npm, too); gives the exit code once all have ended, null if a signal killed it. */
  stop(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

/** The environment of a spawned gateway: only the variables that any program needs. */
const bareEnv = ({ PATH, HOME }: NodeJS.ProcessEnv) => ({
  PATH,
  HOME,
  PORT: '0',
  LOG_LEVEL: 'warn',
  SANDBOX: 'on',
  // Each test file starts several gateways; compiled code is cached.
  NODE_COMPILE_CACHE: join(inject('database').folder, 'compile-cache'),
});

/** Runs `command` (`node src/main.ts`) with these settings alone; kills it at the end of the test. */
export function runGateway(settings: NodeJS.ProcessEnv | DatabaseEnv, command = [process.execPath, 'src/main.ts']) {
  const [file = '', ...args] = command;
  // A process group, so that a signal also reaches the processes that npm starts.
  const child = spawn(file, args, {
    env: { ...bareEnv(process.env), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  // Waits for `close`: at `exit`, the last output may be missing.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The process group has ended.
    }
  };
  onTestFinished(async () => {
    signalGroup('SIGKILL');
    await exited;
  });
  return { child, output: () => output, exited, signalGroup };
}

/** Starts a gateway process and waits until it is ready. Without `issuer`, its own tokens are of company "demo". */
export async function spawnGateway(
  settings: NodeJS.ProcessEnv | DatabaseEnv,
  { issuer, command }: { issuer?: Issuer; command?: string[] } = {},
): Promise<SpawnedGateway> {
  const { child, output, exited, signalGroup } = runGateway(
    { ...(issuer && identityOf(issuer)), ...settings },
    command,
  );
  const ready = Promise.withResolvers<string>();
  child.stdout.on('data', () => {
    const [, url] = /ready on (http\S+)/.exec(output()) ?? [];
    if (url) ready.resolve(url);
  });
  void exited.then(() => ready.reject(new Error(`The gateway did not start:\n${output()}`)));
  const url = await ready.promise;
  return {
    process: child,
    url,
    as: (company) => new Client(url, bearer(issuer?.sign({ company }) ?? /Bearer ([\w.-]+)/.exec(output())?.[1] ?? '')),
    anyone: new Client(url),
    output,
    exited,
    async stop(signal = 'SIGTERM') {
      signalGroup(signal);
      return exited;
    },
  };
}

export const identityOf = (issuer: Issuer): NodeJS.ProcessEnv => ({
  AUTH_ISSUER: issuer.issuer,
  AUTH_AUDIENCE: issuer.audience,
  CONTRACTS_AUTH: 'required',
});

/** An issuer that stops at the end of the test file. */
export async function testIssuer(): Promise<Issuer> {
  const issuer = await startIssuer();
  afterAll(() => issuer.stop());
  return issuer;
}
