import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { contextOf, type Services } from '../../core/context.ts';
import { BACKLOG_COUNTED_MOST, readBacklog } from '../../core/operations/backlog.ts';
import { telemetry } from '../../telemetry/telemetry.ts';
import { lookedAt } from './probes.ts';

const BREAKER_STATES = ['CLOSED', 'OPEN', 'PROBING'] as const;
/** However often they are asked for, what costs a query is read no more often than this. */
const FRESH_MS = 2_000;
const PATIENCE_MS = 2_000;

/** Each gauge: what it tells, and its labels. */
const described = {
  info: ['Always 1; the labels say what is running.', 'version', 'database'],
  database_up: ['Whether the database has just answered (1) or not (0).'],
  database_connections: ['Connections of the pool to a server, by state.', 'state'],
  database_waiting: ['Statements that wait for a connection of the pool.'],
  requests_waiting: ['Parts of requests that wait for their company to have its turn for a connection.'],
  due_rows: [`Rows due and not taken up, of all processes; at most ${BACKLOG_COUNTED_MOST}.`, 'kind'],
  due_oldest_seconds: ['How long the oldest of these rows has been waiting.', 'kind'],
  provider_state: ['The state of the circuit breaker of a provider.', 'provider', 'state'],
  provider_paused_seconds: ['For how long a provider wants no requests.', 'provider'],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

type Gauges = Record<keyof typeof described, Gauge<string>>;

/**
 * Gauges that are read on demand, for Prometheus and OpenTelemetry: the database, waiting work, providers. The result reads
 * them again, from the database if it has not just been looked at.
 */
export function openGauges(services: Services, registry: Registry): () => Promise<void> {
  const all = Object.entries(described).map(([name, [help, ...labelNames]]) => ({
    name,
    help,
    gauge: new Gauge({ name: `fleet_gateway_${name}`, help, labelNames, registers: [registry] }),
  }));
  const gauges = Object.fromEntries(all.map(({ name, gauge }) => [name, gauge])) as Gauges;
  gauges.info.set({ version: packageJson.version, database: services.database.kind }, 1);
  const readDatabase = lookedAt(() => showDatabase(services, gauges), FRESH_MS);
  const read = () => {
    showMemory(services, gauges);
    return readDatabase();
  };
  const watched = all.map((one) => ({ ...one, name: `fleet_gateway.${one.name}` }));
  telemetry?.watch(watched, async () => {
    await read();
    return Promise.all(watched.map(async ({ gauge, ...one }) => ({ ...one, values: (await gauge.get()).values })));
  });
  return read;
}

async function showDatabase(services: Services, gauges: Gauges): Promise<void> {
  // Each by itself: a database whose backlog takes long to count is not away.
  const answering = services.database.ping().then(() => true);
  const counting = readBacklog(contextOf(services, 'metrics', null));
  const [answers, backlog] = await Promise.all([inTime(answering, false), inTime(counting, [])]);
  gauges.database_up.set(Number(answers));
  // An unknown value is left out instead of showing its last state.
  gauges.due_rows.reset();
  gauges.due_oldest_seconds.reset();
  for (const { kind, rows, oldestSeconds } of backlog) {
    gauges.due_rows.set({ kind }, rows);
    gauges.due_oldest_seconds.set({ kind }, oldestSeconds);
  }
}

function showMemory({ database, places, manufacturers }: Services, gauges: Gauges): void {
  const pool = database.connections?.();
  if (pool) {
    gauges.database_connections.set({ state: 'idle' }, pool.idle);
    gauges.database_connections.set({ state: 'used' }, pool.used);
    gauges.database_waiting.set(pool.waiting);
  }
  gauges.requests_waiting.set(places.waiting);
  for (const { id: provider, breaker, pausedUntil } of manufacturers.state()) {
    for (const state of BREAKER_STATES) gauges.provider_state.set({ provider, state }, Number(state === breaker));
    const pausedMs = pausedUntil ? Math.max(0, pausedUntil.getTime() - Date.now()) : 0;
    gauges.provider_paused_seconds.set({ provider }, pausedMs / 1000);
  }
}

/** The promise's value, or `unknown` when it fails or takes too long: a scrape must not hang with the database. */
const inTime = <T>(promise: Promise<T>, unknown: T): Promise<T> =>
  Promise.race([promise.catch(() => unknown), delay(PATIENCE_MS, unknown, { ref: false })]);
