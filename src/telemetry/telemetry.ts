import type { Attributes } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Signal, Step, Telemetry } from './opentelemetry.ts';

export type { Step };

/** null without a collector: then nothing of OpenTelemetry is loaded, and reading this variable is all it costs. */
export let telemetry: Telemetry | null = null;

export function wantedSignals(env: NodeJS.ProcessEnv): Signal[] {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return [];
  const signals: Signal[] = ['TRACES', 'METRICS'];
  return signals.filter((signal) => env.OTEL_EXPORTER_OTLP_ENDPOINT || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
}

/** Begins to send traces and metrics if the environment names a collector. `mask` is for texts that leave the process. */
export async function openTelemetry(env: NodeJS.ProcessEnv, log: Logger, mask: (text: string) => string) {
  const signals = wantedSignals(env);
  if (signals.length === 0) return;
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  telemetry = startOpenTelemetry(env, signals, log, mask);
}

/** Does the work as a step of telemetry. `outcome` gives attributes and labels of few values. */
export function traced<T>(
  describe: () => Step,
  work: () => T | Promise<T>,
  outcome?: (result: T) => Attributes,
): T | Promise<T> {
  return telemetry ? telemetry.run(describe(), work, outcome) : work();
}
