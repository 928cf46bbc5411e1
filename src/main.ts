import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from './app.ts';
import { ConfigError, readConfig } from './config.ts';
import { Changes } from './core/changes.ts';
import { openDatabase } from './entities/database.ts';
import { openAuthenticator } from './http/caller.ts';
import { drain } from './http/drain.ts';
import { masked, openLog } from './http/log.ts';
import { contextOf, openRateLimit } from './http/request-context.ts';
import { welcome } from './http/welcome.ts';
import { startRunner } from './jobs/runner.ts';
import { openManufacturers } from './manufacturers/registry.ts';
import { openTelemetry } from './telemetry/open.ts';
import { telemetry } from './telemetry/telemetry.ts';

/** For questions to manufacturers that are under way when the process is to end. */
const LONGEST_QUESTION_MS = 3_000;

/** Opens everything in order, serves, and on SIGTERM or SIGINT closes it in the opposite order. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = openLog(config);
  await openTelemetry(process.env, log, masked);
  const authenticator = await openAuthenticator(config);
  const database = await openDatabase(config);
  const changes = await Changes.open(database);
  const manufacturers = await openManufacturers(config);
  const core = { config, database, changes, manufacturers };
  const services = { ...core, authenticator, log, rateLimit: openRateLimit(core) };
  const lifecycle = { draining: false };

  const server = createServer(createApp(services, lifecycle));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(config.PORT, config.HOST, resolve);
  });
  const runner = config.WORKERS ? startRunner({ open: () => contextOf(services, 'job', null), changes, log }) : null;
  for (const warning of authenticator.warnings) log.warn(warning);

  const stop = async (signal: string) => {
    log.info(`${signal}: finishing what is under way`);
    lifecycle.draining = true;
    const drained = drain(server);
    const finished = runner?.stop();
    // A manufacturer that says nothing is not waited for: its vehicles come due again.
    await Promise.race([finished, delay(LONGEST_QUESTION_MS)]);
    await manufacturers.close();
    await Promise.all([drained, finished]);
    // Gauges are read from the database once more.
    await telemetry?.close();
    await services.rateLimit.close();
    await changes.close();
    await database.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
  // Last of all: whoever reads that it is ready may also end it.
  console.log(await welcome(services, (server.address() as AddressInfo).port));
}

main().catch((error: unknown) => {
  // What an operator can put right is said in a line; anything else keeps its stack.
  const expected =
    error instanceof ConfigError || (error instanceof Error && (error.name === 'StartError' || 'code' in error));
  console.error(expected ? (error as Error).message : error);
  process.exit(1);
});
