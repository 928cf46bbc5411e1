import type { Reply, UpstreamRequest } from './exchange.ts';
import { type Asker, type NoAnswer, type ProgramAnswer, ProviderError, type Reason } from './provider.ts';

/** A manufacturer decides within minutes, days or weeks. */
export const LOOKS = [60, 300, 900, 3600, 21_600];

export type Answer = Reply | NoAnswer;
/** Sends a request to the provider with its token. Never throws: it answers. */
export type Ask = (request: UpstreamRequest) => Promise<Answer>;
export type AskFor = (request: UpstreamRequest, asker: Asker) => Promise<Answer>;

export const stands = (state: ProgramAnswer['state'], raw: unknown, reason: Reason | null = null): ProgramAnswer => ({
  outcome: 'STANDS',
  state,
  reason,
  raw,
});

/** The answer to a reply that this gateway does not know. */
export const unexpected = ({ status, body }: Reply): NoAnswer =>
  new ProviderError('UNEXPECTED', { raw: { status, body } }).answer;

/** So many items are sent in one request. */
export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/**
 * Sends items in one request. Where the provider refuses the request as a whole because of some of them, halves are sent
 * until the refused items are alone.
 */
export async function sendHalving<T>(
  items: readonly T[],
  send: (items: readonly T[]) => Promise<Answer>,
  note: (items: readonly T[], answer: Answer) => void,
): Promise<void> {
  if (items.length === 0) return;
  const answer = await send(items);
  const isRefused = answer.outcome === 'REPLY' && [400, 403, 404, 422].includes(answer.status);
  if (!isRefused || items.length === 1) return note(items, answer);
  const middle = Math.ceil(items.length / 2);
  await sendHalving(items.slice(0, middle), send, note);
  await sendHalving(items.slice(middle), send, note);
}
