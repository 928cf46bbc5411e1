import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApp } from './app.ts';
import { type Config, ConfigError, mistakenNames, readConfig, settings } from './config.ts';
import { reportActivations, startLines } from './core/activation/activation-report.ts';
import { countUnknown } from './core/activation/audit-activations.ts';
import { sandboxFault } from './core/activation/sandbox-apart.ts';
import { ChangeFeed } from './core/changes.ts';
import { contextOf } from './core/context.ts';
import { Followers } from './core/followers.ts';
import { FileReaders } from './core/imports/file-readers.ts';
import { openFence } from './core/moves/fence.ts';
import { StartError } from './database/database.ts';
import { databaseName, openDatabase } from './database/open-database.ts';
import { endOf } from './database/reason.ts';
import { openFairness } from './fairness/places.ts';
import { openPlaces } from './fairness/slots.ts';
import { graphqlWebSockets } from './graphql/transport/web-socket.ts';
import { drain } from './http/connections/closed.ts';
import { openServer } from './http/connections/open-server.ts';
import { openAuthenticator } from './http/identity/caller.ts';
import { masked, openLog } from './http/observability/open-log.ts';
import { welcome } from './http/pages/home.ts';
import { type HttpServices, RateLimit } from './http/request-context.ts';
import { activityOf } from './jobs/job.ts';
import { startRunner } from './jobs/runner.ts';
import { openManufacturers, SANDBOX } from './manufacturers/index.ts';
import { openTelemetry, telemetry, traced } from './telemetry/telemetry.ts';

// The time at the end for questions to manufacturers, for requests, and for everything. Even kill -9 loses nothing.
const LONGEST_QUESTION_MS = 3_000;
const LONGEST_REQUEST_MS = 8_000;
const LONGEST_STOP_MS = 9_500;
/** Load balancers may send requests here for so long after SIGTERM. */
const GRACE_MS = 1_000;

const usage = `Usage: npm start
Environment variables are its settings, such as PORT=4001 npm start. docs/reference.md explains each of them:
  ${Object.keys(settings.shape)
    .join(', ')
    .replaceAll(/(?=.{97})(.{1,96},) /g, '$1\n  ')}`;

/** Opens everything in order, serves, and on SIGTERM or SIGINT closes it in the opposite order. */
async function main(): Promise<void> {
  if (parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values.help) return console.log(usage);
  const config = readConfig(process.env);
  // `stop` is replaced when there is something to stop. Process 1 of a container gets a signal only if it listens.
  let stop = async (_reason: string, _graceMs: number): Promise<void> => process.exit(0);
  process.once('SIGTERM', () => void stop('SIGTERM', GRACE_MS));
  process.once('SIGINT', () => void stop('SIGINT', 0));
  whenNpmEnds(() => void stop('npm has ended', GRACE_MS));
  console.log(starting(config));
  const log = openLog(config);
  for (const mistake of mistakenNames(process.env)) log.warn(mistake);
  await openTelemetry(process.env, log, masked);
  const authenticator = await openAuthenticator(config);
  const otherIssuer = await authenticator.checkIssuer?.((message) => log.warn(message));
  if (otherIssuer) throw new StartError(otherIssuer);
  const database = await openDatabase(config, (message) => log.warn(message));
  const changes = await ChangeFeed.open(database);
  const clock = Date.now;
  const manufacturers = await openManufacturers(config, { openPlaces, trace: traced }, clock, (fault) =>
    log.warn(fault, 'a manufacturer’s service does not do what this gateway asks for'),
  );
  const mixed = await sandboxFault(database.send, manufacturers, databaseName(config));
  if (mixed) throw new StartError(mixed);
  const files = new FileReaders(config, manufacturers.supported);
  const followers = new Followers(changes, config.LIMIT_CONNECTIONS);
  const fence = await openFence({ config, database, changes });
  const fairness = openFairness();
  const grown = { rows: 0 };
  const core = { config, database, changes, followers, manufacturers, files, clock, fairness, fence, grown };
  const ending = new AbortController();
  const rateLimit = new RateLimit(config.RATE_LIMIT_PER_MINUTE);
  const services = { ...core, authenticator, log, rateLimit, ending: ending.signal };

  const server = openServer(createApp(services), graphqlWebSockets(services), config, log);
  const { HOST, PORT } = config;
  await once(server.listen(PORT, HOST), 'listening').catch((cause: Error) => {
    throw new StartError(`The gateway cannot listen on HOST=${HOST}, PORT=${PORT}: ${cause.message}`, { cause });
  });
  const open = () => contextOf(services, 'job', null);
  const providers = manufacturers.state().map(({ id }) => id);
  log.info({ providers }, 'these providers answer about vehicles');
  for (const warning of [...authenticator.warnings, ...warningsOf(config, providers)]) log.warn(warning);

  let runner: ReturnType<typeof startRunner> | null = null;
  stop = async (reason, graceMs) => {
    if (ending.signal.aborted) return;
    log.info(`${reason}: finishing what is under way`);
    setTimeout(() => process.exit(0), LONGEST_STOP_MS);
    ending.abort();
    const drained = drain(server, graceMs, LONGEST_REQUEST_MS);
    const finished = runner?.stop();
    // A manufacturer that says nothing is not waited for: its vehicles come due again.
    await Promise.race([finished, delay(LONGEST_QUESTION_MS)]);
    await manufacturers.close();
    await Promise.all([drained, finished]);
    // Gauges are read from the database once more.
    await telemetry?.close();
    await fence?.close();
    changes.close();
    await database.close();
    process.exit(0);
  };
  if (config.WORKERS) {
    await sayWhatChanges(services);
    if (!ending.signal.aborted) runner = startRunner({ open, changes, log, activity: activityOf(server) });
    if (config.CONTRACTS_ACTIVATION && !config.INSTALLATION) void sayWhatIsUnknown(services);
  }
  giveBackAfterStart();
  // Last of all, since the process may be ended as soon as this is read.
  console.log(await welcome(services, (server.address() as AddressInfo).port));
}

const auditingOf = ({ database, manufacturers, config }: HttpServices) => ({
  send: database.send,
  manufacturers,
  gap: config.ACTIVATION_GAP_MINUTES,
});

/** Says what the settings change about contracts at manufacturers, before the jobs do it. */
async function sayWhatChanges(services: HttpServices): Promise<void> {
  const { config, log, clock } = services;
  try {
    const report = await reportActivations(auditingOf(services), new Date(clock()));
    const { info, warn } = startLines(report, config.CONTRACTS_ACTIVATION);
    for (const line of info) log.info(line);
    for (const line of warn) log.warn(line);
  } catch (error) {
    log.warn({ err: error }, 'the contracts at manufacturers could not be counted');
  }
}

/** Says what is on at manufacturers that nobody here needs, in the background. Other installations may need it: then nothing is said. */
async function sayWhatIsUnknown(services: HttpServices): Promise<void> {
  const { manufacturers, changes, log, ending } = services;
  for (const { id: provider } of manufacturers.state()) {
    if (provider === SANDBOX || !manufacturers.activatorOf(provider)) continue;
    try {
      const counts = await countUnknown(auditingOf(services), provider, ending);
      if (counts === null) {
        log.info({ provider }, 'what is active at a provider is compared once a day');
        continue;
      }
      changes.emit('outcome', 'found', provider, counts.unknown);
      const said = { provider, ...counts };
      if (counts.unknown === 0) log.info(said, 'what is active at a provider is known here');
      else
        log.warn(
          said,
          'programs are active at a provider that nobody here needs: npm run activations -- --audit lists them',
        );
    } catch (err) {
      if (!ending.aborted) log.warn({ err, provider }, 'what is active at a provider could not be compared');
    }
  }
}

/** The work of the start has ended after this time. */
const STARTED_MS = 5_000;
/** The utilisation above which the process has work already. */
const BUSY = 0.2;

/** Gives the start's memory back (`--expose-gc`), a quarter of an idle process; later, it would drop compiled code. */
function giveBackAfterStart(): void {
  const start = performance.eventLoopUtilization();
  setTimeout(() => {
    const { utilization } = performance.eventLoopUtilization(start);
    if (utilization < BUSY) globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  }, STARTED_MS).unref();
}

function warningsOf({ DATABASE_URL, AUTH_ISSUER, SANDBOX }: Config, providers: readonly string[]): string[] {
  const own = AUTH_ISSUER && !DATABASE_URL;
  const invented = (AUTH_ISSUER || DATABASE_URL) && providers.includes('sandbox');
  return [
    ...(own ? ['DATABASE_URL is not set: what is stored is in DATA_DIR, and other processes do not see it.'] : []),
    ...(invented ? ['No provider is set: the sandbox answers about vehicles, and its answers are invented.'] : []),
    ...(providers.length === 0
      ? ['No provider is set (HIGH_MOBILITY_…, MERCEDES_…): every vehicle is UNSUPPORTED until one is.']
      : []),
    ...(SANDBOX && DATABASE_URL && !invented ? ['SANDBOX=on changes nothing, since a provider is set.'] : []),
  ];
}

const starting = (config: Config): string => `Fleet Gateway is starting: it opens ${databaseName(config)} …`;

/** npm's shell ends on SIGTERM without passing it on; the process then has another parent. */
function whenNpmEnds(onEnd: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && onEnd(), 250).unref();
}

function fail(error: unknown): never {
  // Errors that an operator can mend are one line; others keep their stack.
  const expected =
    error instanceof ConfigError || (error instanceof Error && (error.name === 'StartError' || 'code' in error));
  console.error(endOf(error) ?? (expected ? (error as Error).message : error));
  process.exit(1);
}

// The image's build imports this file, to have all modules compiled, and starts nothing.
if (import.meta.main) main().catch(fail);
