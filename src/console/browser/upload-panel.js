import { fieldError } from './api.js';
import { openDialog } from './dialog.js';
import { count, counted, html, t } from './html.js';
import { RefusedTable, SaveRefused } from './refused.js';
import { dismiss, sendAgain, startUpload, uploads } from './uploads.js';
import { bytes, explain } from './words.js';

/** The files of a fleet that are on their way, or have just arrived. */
export function UploadPanel({ fleetId }) {
  const own = uploads.value.filter((one) => one.fleetId === fleetId);
  return html`<div class="uploads">${own.map((one) => html`<${Upload} key=${one.id} ...${one} />`)}</div>`;
}

function Upload(upload) {
  const { id, name, phase } = upload;
  const running = phase === 'sending' || phase === 'storing';
  return html`<section class=${`upload ${phase}`} aria-live=${running ? 'off' : 'polite'} aria-label=${t('Upload of {name}', { name })}>
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
  const storing = t('Storing {rows} …', { rows: read > 0 ? counted(read - rejected, 'row') : '' });
  return html`<progress max="1" value=${phase === 'sending' ? share : undefined} aria-label="Progress" />
    <p class="dim" aria-live="off">${phase === 'sending' ? sending : storing}</p>`;
}

/** After a lost answer the outcome is unknown. A repetition under the same id stores the file once. */
function Failed({ id, error }) {
  const lost = error.code === 'UNREACHABLE';
  return html`<p role="alert">${lost ? t('The gateway does not answer. Send the file again when it is back: it is stored once.') : `${explain(error)} ${t('Nothing was stored.')}`}</p>
    ${lost && html`<button type="button" onClick=${() => sendAgain(id)}>Send again</button>`}`;
}

function Report({ id, name, summary, rejected, sheet, options }) {
  const { received, created, existing, rejected: refused } = summary;
  return html`<dl class="facts">
      <${Count} label="Rows" value=${received} />
      <${Count} label=${options.dryRun ? t('Would be added') : t('Added')} value=${created} />
      <${Count} label="Already there" value=${existing} />
      <${Count} label="Refused" value=${refused} bad=${refused > 0} />
    </dl>
    ${sheet && html`<p class="dim">Read from the sheet “${sheet}”.</p>`}
    ${options.dryRun && html`<p class="dim">It was only checked. Nothing was stored.</p>`}
    ${
      refused > 0 &&
      html`<details>
          <summary>Reasons</summary>
          <${RefusedTable} rows=${rejected} />
          ${refused > rejected.length && html`<p class="dim">… and ${count(refused - rejected.length)} more in the file.</p>`}
        </details>
        <${SaveRefused} importId=${id} name=${`${name.replace(/\.\w+$/, '')}.rejected.csv`} />`
    }`;
}

const Count = ({ label, value, bad }) =>
  html`<div class=${bad ? 'fact bad' : 'fact'}><dt>${label}</dt><dd>${count(value)}</dd></div>`;

/** The files that choosers offer. */
export const accepted = '.csv,.xlsx,.json,.txt,.tsv,text/csv,application/json';

const fields = [
  { name: 'file', label: t('File'), type: 'file', accept: accepted },
  { name: 'dryRun', label: t('Only check it, and store nothing'), type: 'check', value: true },
  { name: 'atomic', label: t('Add none if a row is refused'), type: 'check' },
];

/** Asks for a file, and whether it is to be stored. */
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
