import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  type Histogram,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { startNodeSdk } from '@opentelemetry/sdk-node';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };

/** A signal for a collector, with its own endpoint or the common one. */
export type Signal = 'TRACES' | 'METRICS';

/** A piece of work, as traces and metrics show it. */
export interface Step {
  /** A label of few values, such as `query fleets`; never an id. */
  name: string;
  /** `client` where another process does the work. */
  kind?: 'client';
  attributes?: Attributes;
  /** The histogram of its durations (seconds), by labels of few values. */
  measured?: { metric: string; labels: Attributes };
  /** `inside`: only as part of another step. `apart`: a trace of its own, linked to the step it comes from. */
  place?: 'inside' | 'apart';
}

/** Facts that are known only after the answer; `labels` are attributes, too, with `error.type` if it failed. */
type Answered = Record<'attributes' | 'labels', Attributes> & { name: string };

interface WatchedMetric {
  name: string;
  help: string;
  isCounter: boolean;
  values(): Promise<readonly { value: number; labels: Attributes }[]>;
}

const NAME = 'fleet-gateway';
/** The buckets that the semantic conventions advise for durations in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const LONGEST_CLOSE_MS = 3_000;

/** Starts the SDK, which reads the OTEL_ variables by itself. */
export function startOpenTelemetry(
  env: NodeJS.ProcessEnv,
  signals: readonly Signal[],
  log: Logger,
  mask: (text: string) => string,
): Telemetry {
  const named = env.OTEL_SERVICE_NAME || /(?:^|,)\s*service\.name=/.test(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
  const sdk = startNodeSdk({
    resourceAttributes: { 'service.version': packageJson.version, ...(!named && { 'service.name': NAME }) },
    logRecordProcessors: [],
    ...(!signals.includes('TRACES') && { spanProcessors: [] }),
    ...(!signals.includes('METRICS') && { metricReaders: [] }),
    logLevel: env.OTEL_LOG_LEVEL || 'warn',
  });
  if (!env.OTEL_LOG_LEVEL) {
    const [warn, quiet] = [(message: string) => log.warn(`telemetry: ${message}`), () => {}];
    const logger = { error: warn, warn, info: quiet, debug: quiet, verbose: quiet };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  }
  return telemetryOf(mask, () => sdk.shutdown());
}

export type Telemetry = ReturnType<typeof telemetryOf>;

/** Sends traces and measurements. Attributes are masked for VINs, tokens and e-mail addresses. */
function telemetryOf(mask: (text: string) => string, shutdown: () => Promise<void>) {
  const tracer = trace.getTracer(NAME, packageJson.version);
  const meter = metrics.getMeter(NAME, packageJson.version);
  const histograms = new Map<string, Histogram>();

  async function run<T>(step: Step, work: () => T | Promise<T>, outcome?: (result: T) => Attributes): Promise<T> {
    const from = trace.getActiveSpan();
    if (step.place === 'inside' && !from) return work();
    const options = {
      kind: step.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: masked(step.attributes),
      ...(step.place === 'apart' && { root: true, links: from ? [{ context: from.spanContext() }] : [] }),
    };
    return tracer.startActiveSpan(step.name, options, async (span) => {
      const start = performance.now();
      let known: Attributes = {};
      try {
        const result = await work();
        known = outcome?.(result) ?? {};
        return result;
      } catch (error) {
        known = { 'error.type': typeOf(error) };
        // Without its message: that may quote what was asked.
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.setAttributes(masked(known)).end();
        if (step.measured) measure(step.measured.metric, start, { ...step.measured.labels, ...known });
      }
    });
  }

  /** Runs `work` as part of the trace its caller names in `headers`, until `work` calls back. */
  function serve(headers: IncomingHttpHeaders, work: (end: (answered: Answered) => void) => void): void {
    const caller = propagation.extract(context.active(), headers);
    const start = performance.now();
    const answer = (span: Span) =>
      work(({ name, attributes, labels }) => {
        if (labels['error.type']) span.setStatus({ code: SpanStatusCode.ERROR });
        span.updateName(name).setAttributes(masked({ ...attributes, ...labels }));
        span.end();
        measure('http.server.request.duration', start, labels);
      });
    tracer.startActiveSpan('request', { kind: SpanKind.SERVER }, caller, answer);
  }

  /** Counters and gauges that others keep, read whenever they are sent. */
  function watch(watched: readonly WatchedMetric[], refresh: () => Promise<void>): void {
    const all = watched.map(({ name, help: description, isCounter, values }) => ({
      values,
      instrument: isCounter
        ? meter.createObservableCounter(name, { description })
        : meter.createObservableGauge(name, { description }),
    }));
    meter.addBatchObservableCallback(
      async (observer) => {
        await refresh();
        for (const { instrument, values } of all)
          for (const { value, labels } of await values()) observer.observe(instrument, value, labels);
      },
      all.map(({ instrument }) => instrument),
    );
  }

  /** Sends what has not been sent yet, within a few seconds. */
  async function close(): Promise<void> {
    await Promise.race([shutdown().catch(() => {}), delay(LONGEST_CLOSE_MS, undefined, { ref: false })]);
  }

  function measure(name: string, start: number, labels: Attributes): void {
    const options = { unit: 's', advice: { explicitBucketBoundaries: BUCKETS } };
    const histogram = histograms.get(name) ?? meter.createHistogram(name, options);
    histograms.set(name, histogram);
    histogram.record((performance.now() - start) / 1000, labels);
  }

  function masked(attributes: Attributes = {}): Attributes {
    return Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, typeof value === 'string' ? mask(value) : value]),
    );
  }
  return { run, serve, watch, close };
}

/** The kind of an error: SQLSTATE, a code of ours, or its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code, kind } = error as { code?: unknown; kind?: unknown };
  return [code, kind].find((value) => typeof value === 'string') ?? error.name;
}
