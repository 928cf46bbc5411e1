import { hash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { Unauthenticated } from '../../core/errors.ts';
import { type HttpServices, localsOf, loggedStatus, operationOf } from '../request-context.ts';
import type { Observe } from './entrance.ts';
import { openGauges } from './gauges.ts';

/** Clients choose the names of GraphQL operations, and each is kept in memory for good. */
const MOST_OPERATIONS = 300;

/**
 * Metrics for operators: requests, waiting work, the database, providers, and the process itself. `expose` is `/metrics`, in
 * Prometheus' text format; nothing in it is of a company.
 */
export function openMetrics(services: HttpServices) {
  const registry = new Registry();
  // A look at the event loop every 10 ms, as by default, would be most of what an idle process does.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const counter: MakeCounter = (name, help, labelNames) =>
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
  const operations = new Set<string>();
  const bounded = (operation: string): string => {
    if (operations.size < MOST_OPERATIONS) operations.add(operation);
    return operations.has(operation) ? operation : '(other)';
  };
  const { METRICS_TOKEN } = services.config;

  const observe: Observe = (req, res, milliseconds) => {
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

type MakeCounter = (name: string, help: string, labelNames: string[]) => Counter;

/** Counters of work beside requests. Each begins at zero, so that a first failure is an increase. */
const outcomes = {
  verification: {
    name: 'verifications_total',
    help: 'Questions to manufacturers, by the status they led to.',
    known: ['ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED', 'NO_ANSWER'],
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
};

function countOutcomes({ changes }: HttpServices, counter: MakeCounter): void {
  const counters = new Map<string, Counter>();
  for (const [of, { name, help, known }] of Object.entries(outcomes)) {
    counters.set(of, counter(name, help, ['outcome']));
    for (const outcome of known) counters.get(of)?.inc({ outcome }, 0);
  }
  changes.on('outcome', (of, outcome, count) => counters.get(of)?.inc({ outcome }, count));
}

/** Compares without telling by its time how much is right. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(wanted));
}
