import { effect, signal } from '@preact/signals';
import { ApiError, authorization, dataOf, fleetData, newId, unreachable } from './api.js';
import { t } from './languages/language.js';
import { subscribe } from './live.js';
import { changed } from './query.js';
import { company, readJson, settings } from './session.js';

/** Converts a JSON file of VINs, texts or objects with a `vin`, to CSV, which the gateway reads. Throws ApiError. */
export async function csvOf(file) {
  const list = listOf(readJson(await file.text()));
  const vins = list?.map((one) => (typeof one === 'object' ? one?.vin : one));
  if (!vins?.length || vins.some((vin) => typeof vin !== 'string')) {
    throw new ApiError('NO_VINS', t('This file has no list of VINs, such as ["WBA…", "WDB…"] or [{"vin": "WBA…"}].'));
  }
  return new Blob([['vin', ...vins.map((vin) => `"${vin.replaceAll('"', '""')}"`)].join('\n')], { type: 'text/csv' });
}

function listOf(value) {
  if (Array.isArray(value)) return value;
  const lists = Object.values(value ?? {}).filter(Array.isArray);
  return lists.length === 1 ? lists[0] : undefined;
}

const progressOf =
  'subscription Progress($id: ID!) { importProgress(importId: $id) { received rejected: rejectedCount } }';

/** Uploads of all fleets, latest first; `phase` is `sending`, `storing`, `done` or `failed`. */
export const uploads = signal(/** @type {any[]} */ ([]));

const change = (id, fields) => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...fields } : one));
};

const underWay = ({ phase }) => phase === 'sending' || phase === 'storing';

export const dismiss = (id) => {
  uploads.value = uploads.value.filter((one) => one.id !== id);
};

const uploadOf = (id) => uploads.value.find((one) => one.id === id);

/** Uploads a file to a fleet and follows its progress; `options` are members of the input, such as `dryRun`. */
export function startUpload(fleetId, file, options = {}) {
  const id = newId();
  uploads.value = [{ id, importId: id, fleetId, file, options, name: file.name, size: file.size }, ...uploads.value];
  return sendAgain(id);
}

const columnKey = () => `fleet-gateway-column-${company.value}`;

/** Uploads a file again, which failed or was read from a wrong column; the browser keeps the name of the column for the company. */
export function readFrom(id, column) {
  if (column) localStorage.setItem(columnKey(), column);
  else localStorage.removeItem(columnKey());
  change(id, { importId: newId(), options: { ...uploadOf(id).options, column } });
  return sendAgain(id);
}

const plain = (name) => name.normalize('NFKC').trim().toLowerCase();

/** The column chosen for another file of the company, if these first rows have it. */
function columnAsBefore(preview = []) {
  const kept = localStorage.getItem(columnKey());
  return kept && preview.some(({ cells }) => cells.some((cell) => plain(cell) === plain(kept))) && kept;
}

/** Uploads a file under the id of its import; the gateway stores it once per id. */
export async function sendAgain(id) {
  const over = new AbortController();
  change(id, { phase: 'sending', share: 0, rows: null, stop: () => over.abort() });
  const { importId, fleetId, file: chosen, options, name } = uploadOf(id);
  try {
    const isJson = /\.json$/i.test(name) || chosen.type === 'application/json';
    const file = isJson ? await csvOf(chosen) : chosen;
    follow(id, importId, over.signal);
    const sent = (share) => change(id, { share, phase: share < 1 ? 'sending' : 'storing' });
    const answer = await sendFile({ ...options, fleetId, importId }, file, name, { sent, signal: over.signal });
    changed(answer);
    const { summary, rejected, duplicates, sheet } = answer;
    change(id, { phase: 'done', summary, rejected, duplicates, sheet });
  } catch (error) {
    // An error that refuses every row also has a report.
    const { summary, rejected = [], duplicates, preview } = error.details ?? {};
    const column = !options.column && columnAsBefore(preview);
    if (column) return readFrom(id, column);
    change(id, summary ? { phase: 'done', summary, rejected, duplicates } : { phase: 'failed', error });
  }
  over.abort();
}

async function follow(id, importId, signal) {
  try {
    for await (const { importProgress } of subscribe(progressOf, { id: importId }, { signal }))
      change(id, { rows: importProgress });
  } catch {
    // The upload's own response reports its outcome.
  }
}

addEventListener('beforeunload', (event) => {
  if (uploads.value.some(underWay)) event.preventDefault();
});

// A new company must not see the uploads of the previous one.
effect(() => {
  void company.value;
  for (const one of uploads.peek().filter(underWay)) one.stop();
  uploads.value = [];
});

const importVehicles = `mutation Upload($input: ImportVehiclesInput!) {
  importVehicles(input: $input) {
    sheet summary { received created existing rejected } rejected { row value code message } duplicates { row firstRow value } ${fleetData}
  }
}`;

/** Sends a file as a multipart request; `sent` gets the share sent, which XMLHttpRequest reports and fetch does not. Throws ApiError. */
export function sendFile(input, file, name, { sent, signal }) {
  const operations = { query: importVehicles, variables: { input: { ...input, file: null } } };
  const form = new FormData();
  form.set('operations', JSON.stringify(operations));
  form.set('map', JSON.stringify({ file: ['variables.input.file'] }));
  form.set('file', file, name);
  const { promise, resolve, reject } = Promise.withResolvers();
  const request = new XMLHttpRequest();
  request.open('POST', `${settings.base}/graphql`);
  for (const [header, value] of Object.entries(authorization())) request.setRequestHeader(header, value);
  request.upload.onprogress = ({ loaded, total }) => sent(loaded / (total || 1));
  request.upload.onload = () => sent(1);
  request.onerror = () => reject(unreachable());
  request.onabort = () => reject(new ApiError('CANCELLED', t('Stopped.')));
  request.onload = () => resolve(request.responseText);
  signal.addEventListener('abort', () => request.abort());
  request.send(form);
  return promise.then((text) => dataOf(text).importVehicles);
}
