import type { Answer, RestRequest } from './route.ts';

/** The interval of comments, which keep the connection open and show when the reader has disconnected. */
const BEAT_MS = 15_000;

/** Server-sent events: each item as `frame` writes it, until their end or that of `signal`. */
export function eventStream<T>(
  { incoming }: RestRequest,
  items: AsyncGenerator<T>,
  signal: AbortSignal,
  frame: (item: T) => string,
): Answer {
  async function* framed(): AsyncGenerator<string> {
    yield 'retry: 2000\n\n';
    let next = items.next();
    try {
      while (!signal.aborted) {
        const beat = Promise.withResolvers<'beat'>();
        const timer = setTimeout(() => beat.resolve('beat'), BEAT_MS);
        const result = await Promise.race([next, beat.promise]).finally(() => clearTimeout(timer));
        if (result !== 'beat' && result.done) return;
        yield result === 'beat' ? ':\n\n' : frame(result.value);
        if (result !== 'beat') next = items.next();
      }
    } finally {
      // The remaining items are not awaited, so that they may release what they hold.
      next.catch(() => {});
      items.return(undefined).catch(() => {});
    }
  }
  const pieces = incoming.method === 'HEAD' ? [] : framed();
  return { headers: { 'X-Accel-Buffering': 'no' }, stream: { type: 'text/event-stream', pieces } };
}
