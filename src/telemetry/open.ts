import type { Logger } from 'pino';
import { type Signal, setTelemetry } from './telemetry.ts';

/** The signals that the standard variables ask for. */
export function wantedSignals(env: NodeJS.ProcessEnv): Signal[] {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return [];
  const signals: Signal[] = ['TRACES', 'METRICS'];
  return signals.filter((signal) => env.OTEL_EXPORTER_OTLP_ENDPOINT || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
}

/** Begins to send traces and metrics if the environment names a collector. `mask` is for texts that leave the process. */
export async function openTelemetry(
  env: NodeJS.ProcessEnv,
  log: Logger,
  mask: (text: string) => string,
): Promise<void> {
  const signals = wantedSignals(env);
  if (signals.length === 0) return;
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  setTelemetry(startOpenTelemetry(env, signals, log, mask));
}
