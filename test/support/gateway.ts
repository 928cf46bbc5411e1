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
import { openLargeWork, openPlaces } from '../../src/core/sql/send.ts';
import type { Database } from '../../src/database/database.ts';
import { Turns } from '../../src/fairness/turns.ts';
import { webSockets } from '../../src/graphql/transport/web-socket.ts';
import { openServer } from '../../src/http/connections/server.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';
import { type HttpServices, openRateLimit } from '../../src/http/request-context.ts';
import { activityOf } from '../../src/jobs/job.ts';
import { startRunner } from '../../src/jobs/runner.ts';
import { openManufacturers } from '../../src/manufacturers/open.ts';
import type { Manufacturers } from '../../src/manufacturers/registry.ts';
import { Client, type Headed } from './client.ts';
import { type DatabaseEnv, testDatabase } from './database.ts';
import { type Issuer, startIssuer } from './identity-provider.ts';
import type { UpstreamServer } from './upstream.ts';

interface Options {
  /** Settings as the environment has them. */
  settings?: NodeJS.ProcessEnv;
  /** Whose tokens count; without one the gateway is its own issuer, as in development. */
  issuer?: Issuer;
  /** A database that this gateway shares with another one; without, it gets one of its own. */
  on?: { env: DatabaseEnv; database: Database };
  /** Whether background work runs. */
  workers?: boolean;
  /** In place of the providers that the settings name. */
  manufacturers?: Manufacturers;
}

export interface Gateway {
  url: string;
  env: DatabaseEnv;
  database: Database;
  services: HttpServices;
  /** Somebody of this company. */
  as(company: string, claims?: Record<string, unknown>): Promise<Client>;
  /** Somebody without a token. */
  anyone: Client;
  /** Moves the service's clock on, so that what is due later is due now. */
  passTime(ms: number): void;
  /** Rows of a statement, past the gateway: for what cannot be seen or brought about through it. */
  execute<Row = Record<string, unknown>>(statement: string): Promise<Row[]>;
  /** Ends background work and the server before the test file ends. */
  close(): Promise<void>;
}

/** The service in this process, on a real port, closed after the test file. Call it at the top level of the file. */
export async function startGateway(options: Options = {}): Promise<Gateway> {
  const { env, database } = options.on ?? (await testDatabase());
  const { issuer } = options;
  const config = readConfig({
    LOG_LEVEL: 'silent',
    // Whoever waits does so for as long as a busy machine takes; tests of the limit set their own.
    LIMIT_STATEMENT_SECONDS: '60',
    ...options.settings,
    DATA_DIR: env.DATA_DIR,
    ...(issuer && { AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience }),
  });
  const log = pino({ level: config.LOG_LEVEL });
  const changes = await ChangeFeed.open(database);
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const manufacturers = options.manufacturers ?? (await openManufacturers(config, clock));
  const files = new FileReaders(config, manufacturers.supported);
  const authenticator = await openAuthenticator(config);
  const ending = new AbortController().signal;
  const places = openPlaces();
  const followers = new Followers(changes, config.LIMIT_CONNECTIONS);
  const shares = { places, large: openLargeWork(), turns: new Turns() };
  const core = { config, database, changes, followers, manufacturers, files, clock, ...shares };
  const services = { ...core, authenticator, log, rateLimit: openRateLimit(core), ending };
  const server = openServer(createApp(services), webSockets(services), config, log).listen(0, '127.0.0.1');
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
    await services.rateLimit.close();
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
      // Every job looks again.
      changes.emit('missed');
    },
    execute: (statement) => database.orm.em.fork().execute(statement),
    close: closeOnce,
  };
}

export const bearer = (token: string): Headed => ({ authorization: `Bearer ${token}` });

/** Settings that make the gateway ask this upstream in High Mobility's place. */
export const askingAt = (upstream: UpstreamServer): NodeJS.ProcessEnv => ({
  HIGH_MOBILITY_URL: upstream.url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
});

/** A gateway that runs as a process of its own, as in production. */
export interface SpawnedGateway {
  process: ChildProcess;
  url: string;
  as(company: string): Client;
  /** Somebody without a token. */
  anyone: Client;
  /** What it has printed so far, on both outputs. */
  output(): string;
  /** Its exit code, once all of it has gone; null: it was killed. */
  exited: Promise<number | null>;
  /** Sends the signal, to npm too, and gives the exit code once all have gone (null: it was killed). */
  stop(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

/** The environment of a spawned gateway: none of ours but what a program needs to run at all. */
const bareEnv = ({ PATH, HOME }: NodeJS.ProcessEnv) => ({
  PATH,
  HOME,
  PORT: '0',
  LOG_LEVEL: 'warn',
  // Each test file starts several.
  NODE_COMPILE_CACHE: join(inject('database').folder, 'compile-cache'),
});

/** Runs `command` (`node src/main.ts`) with these settings and nothing else; it is killed when its test ends. */
export function runGateway(settings: NodeJS.ProcessEnv | DatabaseEnv, command = [process.execPath, 'src/main.ts']) {
  const [file = '', ...args] = command;
  // A group of its own, so that what npm starts goes with it.
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
  // Not its exit: what it printed last would be missing.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // All of it has gone.
    }
  };
  onTestFinished(async () => {
    signalGroup('SIGKILL');
    await exited;
  });
  return { child, output: () => output, exited, signalGroup };
}

/** A running gateway process, ready to serve; its tokens are `issuer`'s, or its own (company "demo") without one. */
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

/** An issuer that goes with the test file. */
export async function testIssuer(): Promise<Issuer> {
  const issuer = await startIssuer();
  afterAll(() => issuer.stop());
  return issuer;
}
