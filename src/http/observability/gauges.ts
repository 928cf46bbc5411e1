import { Gauge, type Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { contextOf, type Services } from '../../core/context.ts';
import { BACKLOG_COUNTED_MOST, readBacklog } from '../../core/operations/backlog.ts';
import { telemetry } from '../../telemetry/telemetry.ts';

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

type Name = keyof typeof described;

/** Gauges that are read on demand, for Prometheus and OpenTelemetry: the database, waiting work, providers. */
export class Gauges {
  readonly #services: Services;
  readonly #gauges: Record<Name, Gauge<string>>;
  #reading: Promise<void> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(services: Services, registry: Registry) {
    this.#services = services;
    const made = Object.entries(described).map(([name, [help, ...labelNames]]) => [
      name,
      new Gauge({ name: `fleet_gateway_${name}`, help, labelNames, registers: [registry] }),
    ]);
    this.#gauges = Object.fromEntries(made);
    this.#gauges.info.set({ version: packageJson.version, database: services.database.kind }, 1);
    const watched = Object.entries(this.#gauges).map(([name, gauge]) => ({
      gauge,
      name: `fleet_gateway.${name}`,
      help: described[name as Name][0],
    }));
    telemetry?.watch(watched, async () => {
      await this.read();
      return Promise.all(
        watched.map(async ({ gauge, ...rest }) => ({ ...rest, values: (await gauge.get()).values.map(sampleOf) })),
      );
    });
  }

  /** Looks again, at the database if it has not just been looked at. */
  async read(): Promise<void> {
    this.#readMemory();
    if (!this.#reading && Date.now() - this.#readAt > FRESH_MS) {
      this.#reading = this.#readDatabase().finally(() => {
        this.#reading = null;
        this.#readAt = Date.now();
      });
    }
    await this.#reading;
  }

  async #readDatabase(): Promise<void> {
    const { database_up: up, due_rows: due, due_oldest_seconds: oldest } = this.#gauges;
    // Each by itself: a database whose backlog takes long to count is not away.
    const [answers, backlog] = await Promise.all([
      inTime(this.#services.database.ping()).then(
        () => true,
        () => false,
      ),
      inTime(readBacklog(contextOf(this.#services, 'metrics', null))).catch(() => []),
    ]);
    up.set(Number(answers));
    // An unknown value is left out instead of showing its last state.
    due.reset();
    oldest.reset();
    for (const { kind, rows, oldestSeconds } of backlog) {
      due.set({ kind }, rows);
      oldest.set({ kind }, oldestSeconds);
    }
  }

  #readMemory(): void {
    const { database_connections: connections, database_waiting: waiting, requests_waiting: queue } = this.#gauges;
    const { provider_state: state, provider_paused_seconds: pause } = this.#gauges;
    const pool = this.#services.database.connections?.();
    if (pool) {
      connections.set({ state: 'idle' }, pool.idle);
      connections.set({ state: 'used' }, pool.used);
      waiting.set(pool.waiting);
    }
    queue.set(this.#services.places.waiting);
    for (const { id, breaker, pausedUntil } of this.#services.manufacturers.state()) {
      for (const one of BREAKER_STATES) state.set({ provider: id, state: one }, Number(one === breaker));
      pause.set({ provider: id }, pausedUntil ? Math.max(0, (pausedUntil.getTime() - Date.now()) / 1000) : 0);
    }
  }
}

const sampleOf = ({ value, labels }: { value: number; labels: Partial<Record<string, string | number>> }) => ({
  value,
  labels,
});

/** The promise's value, or an error when it takes too long: a scrape must not hang with the database. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('took too long')), PATIENCE_MS);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
