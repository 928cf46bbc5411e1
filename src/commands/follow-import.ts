import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Gateway } from './gateway.ts';

export const importShape = z.object({
  state: z.enum(['RUNNING', 'STORING', 'COMPLETED', 'FAILED']),
  received: z.number(),
  created: z.number(),
  existing: z.number(),
  rejected: z.number(),
});
/** An import as the gateway shows it. */
export type ImportState = z.output<typeof importShape>;

export const isUnderWay = ({ state }: ImportState): boolean => state === 'RUNNING' || state === 'STORING';

const RECONNECT_MS = 1_000;
/** Where no event has come for so long, the state is asked for: not every proxy lets a stream through. */
const SILENCE_MS = 2_000;

/** Tells how far an import is until the signal aborts. It need not exist yet, and nothing that goes wrong here matters. */
export async function followImport(
  gateway: Gateway,
  importId: string,
  tell: (state: ImportState) => void,
  signal: AbortSignal,
): Promise<void> {
  let heardAt = performance.now();
  const listen = async () => {
    const headers = { accept: 'text/event-stream' };
    const { body } = await gateway.send('GET', `/imports/${importId}/events`, { headers, signal });
    for await (const state of statesOf(body)) {
      heardAt = performance.now();
      tell(state);
    }
  };
  const ask = async () => {
    if (performance.now() - heardAt < SILENCE_MS) return;
    tell(await gateway.get(`/imports/${importId}`, importShape, signal));
  };
  await Promise.all([again(listen, RECONNECT_MS, signal), again(ask, SILENCE_MS, signal)]);
}

async function again(look: () => Promise<void>, pauseMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look().catch(() => {});
    await delay(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** The data of server-sent events; each stands on one line. */
async function* statesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<ImportState> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: ')) yield importShape.parse(JSON.parse(line.slice(6)));
    }
  }
}
