import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createApp } from './app.ts';
import { ConfigError, readConfig } from './config.ts';
import { Changes } from './core/changes.ts';
import { openDatabase } from './entities/database.ts';
import { openAuthenticator } from './http/caller.ts';
import { drain } from './http/drain.ts';
import { openRateLimit } from './http/rate-limit.ts';
import { contextOf } from './http/request-context.ts';
import { startRunner } from './jobs/runner.ts';
import { openManufacturers } from './manufacturers/registry.ts';
import { welcome } from './http/welcome.ts';

/** Opens everything in order, serves, and on SIGTERM or SIGINT closes it in the opposite order. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = pino({ level: config.LOG_LEVEL });
  const authenticator = await openAuthenticator(config);
  const database = await openDatabase(config);
  const changes = await Changes.open(database);
  const manufacturers = await openManufacturers(config);
  const services = {
    config,
    database,
    changes,
    manufacturers,
    authenticator,
    log,
    rateLimit: openRateLimit(config.RATE_LIMIT_PER_MINUTE),
  };
  const lifecycle = { draining: false };

  const server = createServer(createApp(services, lifecycle));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(config.PORT, config.HOST, resolve);
  });
  const runner = config.WORKERS ? startRunner({ open: () => contextOf(services, 'job', null), changes, log }) : null;
  for (const warning of authenticator.warnings) log.warn(warning);
  console.log(await welcome(services, (server.address() as AddressInfo).port));

  const stop = async (signal: string) => {
    log.info(`${signal}: finishing what is under way`);
    lifecycle.draining = true;
    await Promise.all([drain(server), runner?.stop()]);
    await manufacturers.close();
    await changes.close();
    await database.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
}

main().catch((error: unknown) => {
  // What an operator can put right is said in a line; anything else keeps its stack.
  const expected =
    error instanceof ConfigError || (error instanceof Error && (error.name === 'StartError' || 'code' in error));
  console.error(expected ? (error as Error).message : error);
  process.exit(1);
});
