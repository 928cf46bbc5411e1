import { effect, signal } from '@preact/signals';
import { newId } from './ids.js';
import { csvOf } from './json-file.js';
import { token } from './session.js';
import { subscribe } from './stream.js';
import { sendFile } from './upload.js';

const progressOf = `subscription Progress($id: ID!) {
  importProgress(importId: $id) { received rejected }
}`;

/**
 * Files on their way and those that have arrived, newest first; they go on whatever page is shown. `phase` is `sending`,
 * `storing`, `done` or `failed`.
 */
export const uploads = signal([]);

const change = (id, fields) => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...fields } : one));
};

const underWay = ({ phase }) => phase === 'sending' || phase === 'storing';

export const dismiss = (id) => {
  uploads.value = uploads.value.filter((one) => one.id !== id);
};

/** Sends a file to a fleet, and follows what becomes of it. */
export async function startUpload(fleetId, chosen) {
  const id = newId();
  const over = new AbortController();
  const { name, size } = chosen;
  uploads.value = [
    { id, fleetId, name, size, phase: 'sending', share: 0, rows: null, stop: () => over.abort() },
    ...uploads.value,
  ];
  try {
    const isJson = /\.json$/i.test(name) || chosen.type === 'application/json';
    const file = isJson ? await csvOf(chosen) : chosen;
    follow(id, over.signal);
    const sent = (share) => change(id, { share, phase: share < 1 ? 'sending' : 'storing' });
    const { summary, rejected } = await sendFile({ fleetId, importId: id, file, name }, { sent, signal: over.signal });
    change(id, { phase: 'done', summary, rejected });
  } catch (error) {
    // A file of which every row is refused has its report, too.
    const { summary, rejected = [] } = error.details ?? {};
    change(id, summary ? { phase: 'done', summary, rejected } : { phase: 'failed', error });
  }
  over.abort();
}

async function follow(id, signal) {
  try {
    for await (const { importProgress } of subscribe(progressOf, { id }, { signal }))
      change(id, { rows: importProgress });
  } catch {
    // The upload itself says what became of it.
  }
}

addEventListener('beforeunload', (event) => {
  if (uploads.value.some(underWay)) event.preventDefault();
});

// What belongs to one company is nothing for the next one.
effect(() => {
  if (token.value) return;
  for (const one of uploads.peek().filter(underWay)) one.stop();
  uploads.value = [];
});
