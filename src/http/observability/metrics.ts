import { hash, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { dueKinds } from '../../core/changes.ts';
import { contextOf } from '../../core/context.ts';
import { Unauthenticated } from '../../core/errors.ts';
import {
  MOST_BACKLOG_ROWS,
  readBacklog,
  readGonePrograms,
  readWaitingPrograms,
} from '../../core/operations/backlog.ts';
import { telemetry } from '../../telemetry/telemetry.ts';
import { type HttpServices, localsOf, loggedStatus, operationOf } from '../request-context.ts';
import type { RequestObserver } from './entrance.ts';
import { lookedAt } from './probes.ts';

/** Operations that are counted apart: each stays in memory, and clients can make many. */
const MOST_OPERATIONS = 300;

/** Metrics for operators, without data of companies. `expose` answers `/metrics` in Prometheus' text format. */
export function openMetrics(services: HttpServices) {
  const registry = new Registry();
  // Measuring the event loop every 10 ms, the default, would be most of an idle process's work.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const counter: CounterFactory = (name, help, labelNames) =>
    new Counter({ name: `fleet_gateway_${name}`, help, labelNames, registers: [registry] });
  const answered = 'Requests answered, by operation, HTTP status and, for errors, code.';
  const requests = counter('requests_total', answered, ['operation', 'status', 'code']);
  const durations = new Histogram({
    name: 'fleet_gateway_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by operation.',
    labelNames: ['operation'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const unnamed = 'GraphQL operations that their clients gave no name.';
  const anonymous = counter('anonymous_operations_total', unnamed, ['operation']);
  countOutcomes(services, counter);
  const readGauges = openGauges(services, registry);
  sendToCollector(registry, readGauges);
  const operations = new Set<string>();
  const bounded = (operation: string): string => {
    if (operations.size < MOST_OPERATIONS) operations.add(operation);
    return operations.has(operation) ? operation : '(other)';
  };
  const { METRICS_TOKEN } = services.config;

  const observe: RequestObserver = (req, res, milliseconds) => {
    const operation = bounded(operationOf(req, res));
    requests.inc({ operation, status: loggedStatus(res), code: localsOf(res).code ?? '' });
    durations.observe({ operation }, milliseconds / 1000);
    if (localsOf(res).anonymous) anonymous.inc({ operation });
  };
  const expose: RequestHandler = async (req, res) => {
    if (METRICS_TOKEN && !isSame(req.get('Authorization') ?? '', `Bearer ${METRICS_TOKEN}`)) {
      throw new Unauthenticated('The metrics need the token of METRICS_TOKEN.');
    }
    await readGauges();
    res.set('Content-Type', registry.contentType).end(await registry.metrics());
  };
  return { observe, expose };
}

/** OpenTelemetry has the counters and gauges of `/metrics`; its durations have the buckets of its own conventions. */
function sendToCollector(registry: Registry, refresh: () => Promise<void>): void {
  const own = registry.getMetricsAsArray().filter((one) => one instanceof Counter || one instanceof Gauge);
  const sent = own.flatMap((metric) => {
    const [, name] = /^fleet_gateway_(.+?)(?:_total)?$/.exec(metric.name) ?? [];
    if (!name) return [];
    const values = async () => (await metric.get()).values;
    return { name: `fleet_gateway.${name}`, help: metric.help, isCounter: metric instanceof Counter, values };
  });
  telemetry?.watch(sent, refresh);
}

type CounterFactory = (name: string, help: string, labelNames: string[]) => Counter;

/** Counters of work beside requests. Known outcomes begin at zero, so that a first failure is an increase. */
const outcomes: Record<string, { name: string; help: string; known: readonly string[]; label?: string }> = {
  verification: {
    name: 'verifications_total',
    help: 'Questions to manufacturers, by the status they led to.',
    known: ['ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED', 'NO_ANSWER'],
  },
  activation: {
    name: 'activations_total',
    help: 'Answers of manufacturers about programs of contracts, by the state they led to; UNCHANGED where it was the same.',
    known: ['PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED', 'UNCHANGED', 'NO_ANSWER'],
  },
  found: {
    name: 'activations_found',
    help: 'Programs that were found on at a manufacturer, by a start or after their end, although no contract needs them.',
    known: [],
    label: 'provider',
  },
  delivery: {
    name: 'delivery_attempts_total',
    help: 'Attempts to deliver an event to a webhook, by outcome.',
    known: ['SUCCEEDED', 'FAILED'],
  },
  import: { name: 'imports_total', help: 'Imports that have ended, by state.', known: ['COMPLETED', 'FAILED'] },
  row: {
    name: 'import_rows_total',
    help: 'Rows of imports that have ended, by what became of them.',
    known: ['created', 'existing', 'rejected'],
  },
  operation: {
    name: 'websocket_operations_total',
    help: 'Operations on WebSockets that were answered, by error code; OK without one.',
    known: ['OK', 'INTERNAL', 'UNAVAILABLE'],
  },
  index: { name: 'indexes_rebuilt_total', help: 'Embedded indexes that lacked a row.', known: [], label: 'index' },
  job: { name: 'job_failures_total', help: 'Failures of background work.', known: dueKinds, label: 'kind' },
};

function countOutcomes({ changes }: HttpServices, counter: CounterFactory): void {
  for (const [of, { name, help, known, label = 'outcome' }] of Object.entries(outcomes)) {
    const counted = counter(name, help, [label]);
    const count = (outcome: string, times: number) => counted.inc({ [label]: outcome }, times);
    for (const outcome of known) count(outcome, 0);
    changes.on('outcome', (about, outcome, times) => about === of && count(outcome, times));
  }
}

function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(wanted));
}

const BREAKER_STATES = ['CLOSED', 'OPEN', 'PROBING'] as const;
/** The shortest time between two queries for gauges. */
const FRESH_MS = 2_000;
const PATIENCE_MS = 2_000;

const described = {
  info: ['Always 1; the labels say what is running.', 'version', 'database'],
  database_up: ['Whether the database has just answered on each kind of connection, and takes changes (1) or not (0).'],
  database_read_only: ['Whether the database takes no changes (1): it is a standby, or was made read-only.'],
  ready: ['What /readyz says: ready (1) or not (0).'],
  database_connections: ['Connections of the pool to a server, by state.', 'state'],
  database_waiting: ['Statements that wait for a connection of the pool.'],
  database_replicas_lost: ['Replicas that cannot be reached; the primary does their reads.'],
  requests_waiting: ['Parts of requests that wait for the turn of their company: for a connection, or as large work.'],
  due_rows: [`Rows due and not taken up, of all processes; at most ${MOST_BACKLOG_ROWS}.`, 'kind'],
  due_oldest_seconds: ['How long the oldest of these rows has been waiting.', 'kind'],
  programs_waiting: ['Programs of contracts that wait to begin or to end.', 'provider', 'for'],
  programs_waiting_seconds: ['How long the first of these programs has been waiting.', 'provider', 'for'],
  provider_state: ['The state of the circuit breaker of a provider.', 'provider', 'state'],
  provider_paused_seconds: ['For how long a provider wants no requests.', 'provider'],
  provider_held_seconds: [
    'For how long nearly nothing has been asked of a provider, or about one of its brands.',
    'provider',
  ],
  provider_service_failing_seconds: [
    'The time for which all answers of a service of a provider have been faults; 0 while it is well.',
    'provider',
    'service',
  ],
  provider_gone_programs: ['Programs of contracts at a provider that has no settings any more.', 'provider'],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

type Gauges = Record<keyof typeof described, Gauge<string>>;

/** Gauges of the database, waiting work and providers, read on demand; the result reads them. */
function openGauges(services: HttpServices, registry: Registry): () => Promise<void> {
  const gauges = Object.fromEntries(
    Object.entries(described).map(([name, [help, ...labelNames]]) => [
      name,
      new Gauge({ name: `fleet_gateway_${name}`, help, labelNames, registers: [registry] }),
    ]),
  ) as Gauges;
  gauges.info.set({ version: packageJson.version, database: services.database.kind }, 1);
  const readDatabase = lookedAt(() => showDatabase(services, gauges), FRESH_MS);
  return () => {
    showMemory(services, gauges);
    return readDatabase();
  };
}

async function showDatabase(services: HttpServices, gauges: Gauges): Promise<void> {
  // Two reads: a database that counts its backlog slowly is still up.
  const { database, ending, clock } = services;
  const answers = inTime(
    database.ping().then(() => true),
    false,
  );
  const ready = inTime(
    database.unready().then((fault) => fault === null && !ending.aborted),
    false,
  );
  const ctx = contextOf(services, 'metrics', null);
  const counted = inTime(readWaitingPrograms(ctx), []);
  const backlog = await inTime(readBacklog(ctx), []);
  const programs = await counted;
  const gone = await inTime(readGonePrograms(ctx), []);
  gauges.database_up.set(Number(await answers));
  gauges.ready.set(Number(await ready));
  // An unknown value is left out instead of showing its last state.
  for (const name of [
    'due_rows',
    'due_oldest_seconds',
    'programs_waiting',
    'programs_waiting_seconds',
    'provider_gone_programs',
  ] as const)
    gauges[name].reset();
  for (const { provider, wanted, programs: rows, since } of programs) {
    const labels = { provider, for: wanted ? 'begin' : 'end' };
    gauges.programs_waiting.set(labels, rows);
    gauges.programs_waiting_seconds.set(labels, Math.max(0, clock() - Date.parse(since)) / 1000);
  }
  for (const { provider, programs: rows } of gone) gauges.provider_gone_programs.set({ provider }, rows);
  for (const { kind, rows, oldestSeconds } of backlog) {
    gauges.due_rows.set({ kind }, rows);
    gauges.due_oldest_seconds.set({ kind }, oldestSeconds);
  }
}

function showMemory({ database, fairness, manufacturers, clock }: HttpServices, gauges: Gauges): void {
  const pool = database.connections?.();
  if (pool) {
    gauges.database_connections.set({ state: 'idle' }, pool.idle);
    gauges.database_connections.set({ state: 'used' }, pool.used);
    gauges.database_waiting.set(pool.waiting);
    gauges.database_read_only.set(Number(pool.isReadOnly));
    gauges.database_replicas_lost.set(pool.lostReplicas);
  }
  const shares = [fairness.places, ...Object.values(fairness.large)];
  gauges.requests_waiting.set(shares.reduce((sum, { waiting }) => sum + waiting, 0));
  const now = clock();
  for (const { id: provider, breaker, since, pausedUntil, brands, services } of manufacturers.state()) {
    for (const state of BREAKER_STATES) gauges.provider_state.set({ provider, state }, Number(state === breaker));
    gauges.provider_paused_seconds.set({ provider }, pausedUntil ? Math.max(0, pausedUntil.getTime() - now) / 1000 : 0);
    for (const { service, since: failing } of services)
      gauges.provider_service_failing_seconds.set(
        { provider, service },
        failing ? (now - failing.getTime()) / 1000 : 0,
      );
    const times = [since, ...brands.map((brand) => brand.since)].map((time) => time?.getTime() ?? now);
    gauges.provider_held_seconds.set({ provider }, (now - Math.min(...times)) / 1000);
  }
}

/** The promise's value, or `unknown` when it fails or takes too long, so that no scrape hangs. */
const inTime = <T>(promise: Promise<T>, unknown: T): Promise<T> =>
  Promise.race([promise.catch(() => unknown), delay(PATIENCE_MS, unknown, { ref: false })]);
