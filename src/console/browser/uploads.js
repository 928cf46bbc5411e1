import { effect, signal } from '@preact/signals';
import { newId } from './ids.js';
import { csvOf } from './json-file.js';
import { changed } from './query.js';
import { token } from './session.js';
import { subscribe } from './stream.js';
import { sendFile } from './upload.js';

const progressOf =
  'subscription Progress($id: ID!) { importProgress(importId: $id) { received rejected: rejectedCount } }';

/** Files on their way or arrived, newest first, whatever page is shown; `phase` is `sending`, `storing`, `done` or `failed`. */
export const uploads = signal(/** @type {any[]} */ ([]));

const change = (id, fields) => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...fields } : one));
};

const underWay = ({ phase }) => phase === 'sending' || phase === 'storing';

export const dismiss = (id) => {
  uploads.value = uploads.value.filter((one) => one.id !== id);
};

/** Sends a file to a fleet, and follows what becomes of it; `options` are those of the input, such as `dryRun`. */
export function startUpload(fleetId, file, options = {}) {
  const id = newId();
  uploads.value = [{ id, fleetId, file, options, name: file.name, size: file.size }, ...uploads.value];
  return sendAgain(id);
}

/** Sends a file under its id. The gateway stores a file once per id. */
export async function sendAgain(id) {
  const over = new AbortController();
  change(id, { phase: 'sending', share: 0, rows: null, stop: () => over.abort() });
  const { fleetId, file: chosen, options, name } = uploads.value.find((one) => one.id === id);
  try {
    const isJson = /\.json$/i.test(name) || chosen.type === 'application/json';
    const file = isJson ? await csvOf(chosen) : chosen;
    follow(id, over.signal);
    const sent = (share) => change(id, { share, phase: share < 1 ? 'sending' : 'storing' });
    const answer = await sendFile({ ...options, fleetId, importId: id }, file, name, { sent, signal: over.signal });
    changed(answer);
    const { summary, rejected, sheet } = answer;
    change(id, { phase: 'done', summary, rejected, sheet });
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

// Uploads of one company are not shown to the next one.
effect(() => {
  if (token.value) return;
  for (const one of uploads.peek().filter(underWay)) one.stop();
  uploads.value = [];
});
