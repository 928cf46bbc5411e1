import type { ServerResponse } from 'node:http';

/** Aborts when the client has gone or has its whole answer, or when the process is to end: whoever waits stops waiting. */
export function closedOf(res: ServerResponse, ending: AbortSignal): AbortSignal {
  const closed = new AbortController();
  res.once('close', () => closed.abort());
  // Before anybody else hears of the end. A stream of events just stops, so that its client comes back, to another
  // process: what GraphQL calls "complete" would tell it not to.
  const stop = () => isEventStream(res) && res.end();
  ending.addEventListener('abort', stop, { signal: closed.signal });
  return AbortSignal.any([closed.signal, ending]);
}

const isEventStream = (res: ServerResponse): boolean =>
  res.headersSent && /^text\/event-stream/.test(String(res.getHeader('content-type')));
