import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { contextOf, type Services } from '../../core/context.ts';
import { Unauthenticated } from '../../core/errors.ts';
import { BACKLOG_MOST, readBacklog } from '../../core/operations/backlog.ts';
import { telemetry } from '../../telemetry/telemetry.ts';
import { localsOf, operationOf } from '../locals.ts';
import type { HttpServices } from '../request-context.ts';
import type { Observe } from './entrance.ts';

export interface Metrics {
  /** Counts and times a request that is over. */
  observe: Observe;
  /** `/metrics`, in Prometheus' text format. Nothing in it is of a company. */
  expose: RequestHandler;
}

const BREAKER_STATES = ['CLOSED', 'OPEN', 'PROBING'] as const;
/** Clients choose the names of GraphQL operations, and each is kept in memory for good. */
const MOST_OPERATIONS = 300;
/** However often they are asked for, what costs a query is read no more often than this. */
const FRESH_MS = 2_000;
const PATIENCE_MS = 2_000;

/** What operators watch: requests, waiting work, the database, providers, and the process itself. */
export function openMetrics(services: HttpServices): Metrics {
  const registry = new Registry();
  // A look at the event loop every 10 ms, as by default, would be most of what an idle process does.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const requests = new Counter({
    name: 'fleet_gateway_requests_total',
    help: 'Requests answered, by operation, HTTP status and, for refusals, code.',
    labelNames: ['operation', 'status', 'code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'fleet_gateway_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by operation.',
    labelNames: ['operation'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const anonymous = new Counter({
    name: 'fleet_gateway_anonymous_operations_total',
    help: 'GraphQL operations that their clients gave no name.',
    labelNames: ['operation'],
    registers: [registry],
  });
  const readState = openState(services, registry);
  const operations = new Set<string>();
  const bounded = (operation: string): string => {
    if (operations.size < MOST_OPERATIONS) operations.add(operation);
    return operations.has(operation) ? operation : '(other)';
  };
  const { METRICS_TOKEN } = services.config;

  return {
    observe(req, res, milliseconds) {
      const operation = bounded(operationOf(req, res));
      requests.inc({ operation, status: res.statusCode, code: localsOf(res).code ?? '' });
      durations.observe({ operation }, milliseconds / 1000);
      if (localsOf(res).anonymous) anonymous.inc({ operation });
    },
    async expose(req, res) {
      if (METRICS_TOKEN && !isSame(req.get('Authorization') ?? '', `Bearer ${METRICS_TOKEN}`)) {
        throw new Unauthenticated('The metrics need the token of METRICS_TOKEN.');
      }
      await readState();
      res.set('Content-Type', registry.contentType).end(await registry.metrics());
    },
  };
}

/** Compares without telling by its time how much is right. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** Gauges that are read when they are asked for. */
function openState(services: Services, registry: Registry): () => Promise<void> {
  const gauges: { name: string; help: string; gauge: Gauge }[] = [];
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) => {
    const made = new Gauge({ name: `fleet_gateway_${name}`, help, labelNames, registers: [registry] });
    gauges.push({ name: `fleet_gateway.${name}`, help, gauge: made });
    return made;
  };
  gauge('info', 'Always 1; the labels say what is running.', 'version', 'database').set(
    { version: packageJson.version, database: services.database.kind },
    1,
  );
  const up = gauge('database_up', 'Whether the database has just answered (1) or not (0).');
  const connections = gauge('database_connections', 'Connections of the pool to a server, by state.', 'state');
  const waiting = gauge('database_waiting', 'Requests that wait for a connection of the pool.');
  const due = gauge('due_rows', `Rows due and not taken up, of all processes; at most ${BACKLOG_MOST}.`, 'kind');
  const oldest = gauge('due_oldest_seconds', 'How long the oldest of these rows has been waiting.', 'kind');
  const state = gauge('provider_state', 'The state of the circuit breaker of a provider.', 'provider', 'state');
  const pause = gauge('provider_paused_seconds', 'For how long a provider wants no requests.', 'provider');

  async function readDatabase(): Promise<void> {
    try {
      const backlog = await inTime(readBacklog(contextOf(services, 'metrics', null)));
      for (const { kind, rows, oldestSeconds } of backlog) {
        due.set({ kind }, rows);
        oldest.set({ kind }, oldestSeconds);
      }
      up.set(1);
    } catch {
      // What is not known now is left out rather than shown as it was.
      due.reset();
      oldest.reset();
      up.set(0);
    }
  }

  function readMemory(): void {
    const pool = services.database.connections?.();
    if (pool) {
      connections.set({ state: 'idle' }, pool.idle);
      connections.set({ state: 'used' }, pool.used);
      waiting.set(pool.waiting);
    }
    for (const { id, breaker, pausedUntil } of services.manufacturers.state()) {
      for (const one of BREAKER_STATES) state.set({ provider: id, state: one }, Number(one === breaker));
      pause.set({ provider: id }, pausedUntil ? Math.max(0, (pausedUntil.getTime() - Date.now()) / 1000) : 0);
    }
  }

  let reading: Promise<void> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async () => {
    readMemory();
    if (!reading && Date.now() - readAt > FRESH_MS) {
      reading = readDatabase().finally(() => {
        reading = null;
        readAt = Date.now();
      });
    }
    await reading;
  };
  telemetry?.watch(gauges, async () => {
    await read();
    return Promise.all(
      gauges.map(async ({ gauge, ...rest }) => ({ ...rest, values: (await gauge.get()).values.map(sampleOf) })),
    );
  });
  return read;
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
