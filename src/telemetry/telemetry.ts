import type { IncomingHttpHeaders } from 'node:http';
import type { Attributes } from '@opentelemetry/api';

/** A signal for a collector, with its own endpoint or the common one. */
export type Signal = 'TRACES' | 'METRICS';

/** A piece of work, as traces and metrics show it. */
export interface Step {
  /** A label of few values, such as `query fleets`; never an id. */
  name: string;
  /** `client` where somebody outside this process does the work. */
  kind?: 'client';
  attributes?: Attributes;
  /** The histogram of its durations (seconds), by labels of few values. */
  measured?: { metric: string; labels: Attributes };
  /** `inside`: only as part of another step. `apart`: a trace of its own, linked to the step it comes from. */
  place?: 'inside' | 'apart';
}

/** Facts that are known only after the answer; `labels` are attributes, too. */
export interface Answered {
  name: string;
  attributes: Attributes;
  labels: Attributes;
  failed: boolean;
}

export interface Gauge {
  name: string;
  help: string;
  values: readonly { value: number; labels: Attributes }[];
}

/** Sends traces and measurements. Attributes are masked for VINs, tokens and e-mail addresses. */
export interface Telemetry {
  run<T>(step: Step, work: () => T | Promise<T>, outcome?: (result: T) => Attributes): Promise<T>;
  /** Runs `work` as part of the trace its caller names in `headers`, until `work` calls back. */
  serve(headers: IncomingHttpHeaders, work: (end: (answered: Answered) => void) => void): void;
  /** Gauges of these names, read whenever they are sent. */
  watch(gauges: readonly Pick<Gauge, 'name' | 'help'>[], read: () => Promise<readonly Gauge[]>): void;
  /** Sends what has not been sent yet, within a few seconds. */
  close(): Promise<void>;
}

/** null where no collector is named: then nothing of OpenTelemetry is loaded, and asking for this is all it costs. */
export let telemetry: Telemetry | null = null;

export function setTelemetry(opened: Telemetry): void {
  telemetry = opened;
}

/** Does the work, as a step that telemetry sees. `outcome` gives attributes and labels of few values. */
export function traced<T>(
  describe: () => Step,
  work: () => T | Promise<T>,
  outcome?: (result: T) => Attributes,
): T | Promise<T> {
  return telemetry ? telemetry.run(describe(), work, outcome) : work();
}
