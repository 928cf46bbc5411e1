import { effect, signal } from '@preact/signals';
import { ask, away } from './api.js';
import { token } from './session.js';
import { subscribe } from './stream.js';

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
