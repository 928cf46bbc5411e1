import { effect, signal } from '@preact/signals';
import { ApiError, ask, away, dataOf, send, unreachable } from './api.js';
import { t } from './languages/language.js';
import { token } from './session.js';

/** Yields a subscription's data over server-sent events until it completes; calls `opened` when the gateway listens. Throws ApiError. */
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

const ofEvents = 'subscription Follow($after: String) { events(after: $after) { id type fleetId } }';
const ofContracts = 'subscription FollowContracts { events: contractChanged { contract { id } } }';
const AWAY_MS = 3_000;
const LONGEST_PAUSE_MS = 4_000;

/** Whether the page follows changes. */
export const live = signal(false);
const visible = signal(!document.hidden);
document.addEventListener('visibilitychange', () => {
  visible.value = !document.hidden;
});

const listeners = new Set();

/** Calls `listener` with each event, or with null if events may be missing; the returned function stops it. */
export function onEvents(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = (event) => {
  for (const listener of listeners) listener(event);
};

// Polls an unreachable gateway; its first response makes all queries read again.
effect(() => {
  if (!away.value) return;
  const timer = setInterval(() => ask('{ __typename }', {}).catch(() => {}), AWAY_MS);
  return () => {
    clearInterval(timer);
    tell(null);
  };
});

/** Opens one stream while the page is visible: browsers allow six connections per host, for all tabs together. */
export const followChanges = (document = ofEvents, opened = live) =>
  effect(() => {
    if (!token.value || !visible.value) return;
    const gone = new AbortController();
    follow(document, opened, gone.signal);
    return () => {
      gone.abort();
      opened.value = false;
    };
  });

/** Follows contracts at manufacturers, of which not every change is an event; the returned function stops it. */
export const followContracts = () => followChanges(ofContracts, signal(false));

async function follow(document, isOpen, signal) {
  let after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const opened = () => {
        isOpen.value = true;
        // Events before this moment are missing and queries may have failed, so all queries read again.
        if (!after || failures > 0) tell(null);
        failures = 0;
      };
      for await (const { events } of subscribe(document, { after }, { signal, opened })) {
        after = events.id;
        tell({ type: 'CONTRACT_CHANGED', ...events });
      }
    } catch (error) {
      if (signal.aborted || error.code === 'FORBIDDEN') return;
      // The event after which to continue may be too old by now.
      if (error.code !== 'UNREACHABLE') after = undefined;
    }
    if (signal.aborted) return;
    isOpen.value = false;
    await new Promise((resolve) => setTimeout(resolve, Math.min(1_000 * 2 ** failures++, LONGEST_PAUSE_MS)));
  }
}
