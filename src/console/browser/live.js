import { effect, signal } from '@preact/signals';
import { ApiError, ask, away, dataOf, send, unreachable } from './api.js';
import { t } from './languages/language.js';
import { token } from './session.js';

/**
 * The data of a subscription as it comes, by GraphQL over server-sent events; ends when the gateway says that it is complete.
 * Throws ApiError, UNREACHABLE where the connection ends before. `opened` is called when the gateway listens.
 */
export async function* subscribe(query, variables, /** @type {any} */ { signal, opened = () => {} }) {
  const answer = await send(query, variables, { accept: 'text/event-stream', signal });
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    dataOf(await answer.text());
    throw unreachable();
  }
  opened();
  for await (const { event, data } of eventsOf(/** @type {ReadableStream} */ (answer.body).getReader())) {
    if (event === 'complete') return;
    if (event === 'next') yield dataOf(data);
  }
  throw new ApiError('UNREACHABLE', t('The gateway does not answer.'));
}

async function* eventsOf(reader) {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? '';
      for (const block of blocks) yield fieldsOf(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function fieldsOf(block) {
  const fields = { event: 'message', data: '' };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') fields.data += value;
    else if (name) fields[name] = value;
  }
  return fields;
}

const document_ = 'subscription Follow($after: String) { events(after: $after) { id type fleetId } }';
const AWAY_MS = 3_000;
const LONGEST_PAUSE_MS = 4_000;

/** Whether changes are being followed. */
export const live = signal(false);

const visible = signal(!document.hidden);
document.addEventListener('visibilitychange', () => {
  visible.value = !document.hidden;
});

const listeners = new Set();

/** Calls back with each event, or with null where any may have been missed, until the returned function is called. */
export function onEvents(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = (event) => {
  for (const listener of listeners) listener(event);
};

// A gateway that does not answer is asked again and again; once it answers, everything is read anew.
effect(() => {
  if (!away.value) return;
  const timer = setInterval(() => ask('{ __typename }', {}).catch(() => {}), AWAY_MS);
  return () => {
    clearInterval(timer);
    tell(null);
  };
});

/** One stream for the whole page, while it is looked at: browsers open six connections to a host, for all of their tabs. */
export function followChanges() {
  effect(() => {
    if (!token.value || !visible.value) return;
    const gone = new AbortController();
    follow(gone.signal);
    return () => {
      gone.abort();
      live.value = false;
    };
  });
}

async function follow(signal) {
  let after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const opened = () => {
        live.value = true;
        // Events before this moment are missing, and queries may have failed: everything is read anew.
        if (!after || failures > 0) tell(null);
        failures = 0;
      };
      for await (const { events } of subscribe(document_, { after }, { signal, opened })) {
        after = events.id;
        tell(events);
      }
    } catch (error) {
      if (signal.aborted) return;
      // The event to go on from may be too old by now.
      if (error.code !== 'UNREACHABLE') after = undefined;
    }
    if (signal.aborted) return;
    live.value = false;
    await new Promise((resolve) => setTimeout(resolve, Math.min(1_000 * 2 ** failures++, LONGEST_PAUSE_MS)));
  }
}
