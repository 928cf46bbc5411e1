import { useEffect, useState } from 'preact/hooks';
import { fieldError } from './api.js';
import { explain } from './codes.js';
import { openDialog } from './dialog.js';
import { count, counted, html, t } from './html.js';
import { Fact } from './parts.js';
import { RefusedTable, RepeatedRows, SaveRefused } from './refused.js';
import { dismiss, readFrom, sendAgain, startUpload, uploads } from './uploads.js';
import { Corrections } from './vins.js';
import { aVin, bytes } from './words.js';

const hasFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes('Files');

/** Shows where a file will go while it is dragged over the page; the whole page accepts the drop. */
export function DropZone({ name, take }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    const on = (type, listener) => addEventListener(type, listener, { signal: gone.signal });
    for (const type of ['dragenter', 'dragover']) on(type, (event) => setOver(hasFiles(event)));
    // `dragleave` also fires between elements.
    on('dragleave', ({ relatedTarget }) => relatedTarget || setOver(false));
    on('drop', ({ dataTransfer }) => {
      setOver(false);
      if (dataTransfer?.files.length) take([...dataTransfer.files]);
    });
    return () => gone.abort();
  }, []);
  return (
    over &&
    html`<div class="drop" aria-hidden="true"><p>Drop to add the vehicles to<br /><b>${name ?? t('this fleet')}</b></p></div>`
  );
}

export function UploadPanel({ fleetId }) {
  const own = uploads.value.filter((one) => one.fleetId === fleetId);
  return html`<div class="uploads">${own.map((one) => html`<${Upload} key=${one.id} ...${one} />`)}</div>`;
}

function Upload(upload) {
  const { id, name, phase } = upload;
  const running = phase === 'sending' || phase === 'storing';
  return html`<section class=${`upload ${phase}`} aria-live=${running ? 'off' : 'polite'} tabindex="-1" aria-label=${t('Upload of {name}', { name })}>
    <div class="row apart">
      <h2>${name}</h2>
      ${running && phase === 'sending' && html`<button type="button" class="quiet" onClick=${upload.stop}>Stop</button>`}
      ${!running && html`<button type="button" class="quiet" onClick=${() => dismiss(id)}>Dismiss</button>`}
    </div>
    ${running && html`<${Running} ...${upload} />`}
    ${phase === 'done' && html`<${Report} id=${id} name=${name} ...${upload} />`}
    ${phase === 'failed' && html`<${Failed} ...${upload} />`}
  </section>`;
}

function Running({ phase, share, size, rows }) {
  const { received: read = 0, rejected = 0 } = rows ?? {};
  const sent = t('Sending {sent} of {size}', { sent: bytes(size * share), size: bytes(size) });
  const sending = [sent, read > 0 && t('{rows} read', { rows: counted(read, 'row') })].filter(Boolean).join(' · ');
  const storing = t('Saving {rows} …', { rows: read > 0 ? counted(read - rejected, 'row') : '' });
  return html`<progress max="1" value=${phase === 'sending' ? share : undefined} aria-label="Progress" />
    <p class="dim" aria-live="off">${phase === 'sending' ? sending : storing}</p>`;
}

/** After a lost response the outcome is unknown; repeating with the same id stores the file once. */
function Failed({ id, error }) {
  const lost = error.code === 'UNREACHABLE';
  return html`<p role="alert">${lost ? t('The gateway does not answer. Send the file again later; it is saved only once.') : html`${explain(error)} ${t('Nothing was saved.')}`}</p>
    ${lost && html`<button type="button" onClick=${() => sendAgain(id)}>Send again</button>`}
    ${error.details?.preview && html`<${ColumnChoice} id=${id} preview=${error.details.preview} />`}`;
}

const filled = ({ cells }) => cells.filter((cell) => cell.trim()).length;

/** The first rows of a file below a button for each column. Titles above the names have fewer cells, and names are no VINs. */
function ColumnChoice({ id, preview }) {
  const [names] = preview
    .filter(({ cells }) => !cells.some((cell) => aVin.test(cell)))
    .toSorted((a, b) => filled(b) - filled(a));
  if (!names) return null;
  const choose = (event, column) => {
    event.currentTarget.closest('.upload').focus();
    readFrom(id, column);
  };
  return html`<p>Which column has the VINs?</p>
    <div class="scroll">
      <table class="preview" aria-label="First rows of the file">
        <thead>
          <tr>${names.cells.map((name, at) => html`<th key=${at}>${name.trim() && html`<button type="button" onClick=${(event) => choose(event, name)}>${name}</button>`}</th>`)}</tr>
        </thead>
        <tbody>${preview.filter(({ row }) => row > names.row).map(({ row, cells }) => html`<tr key=${row}>${cells.map((cell, at) => html`<td key=${at}>${cell}</td>`)}</tr>`)}</tbody>
      </table>
    </div>`;
}

function Report({ id, importId, fleetId, name, summary, rejected, duplicates = [], sheet, options }) {
  const { received, created, existing, rejected: refused } = summary;
  // Of a file that is added whole or not at all, the corrected rows alone would be half.
  const show = options.dryRun || options.mode === 'ATOMIC' ? RefusedTable : Corrections;
  return html`<dl class="facts">
      <${Fact} label="Rows">${count(received)}<//>
      <${Fact} label=${options.dryRun ? t('Would be added') : t('Added')}>${count(created)}<//>
      <${Fact} label=${duplicates.length > 0 ? t('Already in the fleet, or twice in the file') : t('Already in the fleet')}>${count(existing)}<//>
      <${Fact} label="Rejected" bad=${refused > 0}>${count(refused)}<//>
    </dl>
    ${sheet && html`<p class="dim">Read from the sheet “${sheet}”.</p>`}
    ${options.column && html`<p class="dim">Read from the column “${options.column}”. <button type="button" class="link" onClick=${() => readFrom(id)}>Choose another column</button></p>`}
    ${options.dryRun && html`<p class="dim">Checked only. Nothing was saved.</p>`}
    ${duplicates.length > 0 && html`<details><summary>Rows that repeat a VIN</summary><${RepeatedRows} rows=${duplicates} /></details>`}
    ${refused > 0 && html`<details><summary>Reasons</summary><${show} rows=${rejected} fleetId=${fleetId} />${refused > rejected.length && html`<p class="dim">… and ${count(refused - rejected.length)} more in the file.</p>`}</details><${SaveRefused} importId=${importId} name=${name} />`}`;
}

export const accepted = '.csv,.xlsx,.json,.txt,.tsv,text/csv,application/json';

const fields = [
  { name: 'file', label: t('File'), type: 'file', accept: accepted },
  { name: 'dryRun', label: t('Check only, save nothing'), type: 'check', value: true },
  { name: 'atomic', label: t('Add nothing if a row is rejected'), type: 'check' },
];

export const uploadForm = (fleetId) =>
  openDialog({
    title: t('Check a file'),
    fields,
    verb: t('Send'),
    send: ({ file, dryRun, atomic }) => {
      if (!file.name) throw fieldError('file', t('Choose a file.'));
      startUpload(fleetId, file, { dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' });
    },
  });
