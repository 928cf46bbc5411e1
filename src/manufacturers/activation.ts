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
 * Sends items in one request. `blames` tells of a refusal which items are at fault, where the provider refuses a request as a
 * whole because of some; null where the refusal concerns none. The others are sent again without them; where the provider
 * names none, halves are sent until the refused items are alone.
 */
export async function sendApart<T>(
  items: readonly T[],
  send: (items: readonly T[]) => Promise<Answer>,
  blames: (refusal: Reply) => ((item: T) => boolean) | null,
  note: (items: readonly T[], answer: Answer) => void,
): Promise<void> {
  if (items.length === 0) return;
  const answer = await send(items);
  const isAtFault = answer.outcome === 'REPLY' && answer.status >= 400 ? blames(answer) : null;
  if (!isAtFault || items.length === 1) return note(items, answer);
  const named = items.filter(isAtFault);
  if (named.length > 0) note(named, answer);
  const others = items.filter((item) => !isAtFault(item));
  const middle = named.length > 0 ? others.length : Math.ceil(others.length / 2);
  await sendApart(others.slice(0, middle), send, blames, note);
  await sendApart(others.slice(middle), send, blames, note);
}
