import { useEffect, useState } from 'preact/hooks';
import { recordsOf } from './csv.js';
import { attempt } from './dialog.js';
import { saveRefused, startOf } from './download.js';
import { html } from './html.js';
import { Failure, Waiting } from './parts.js';
import { Table } from './table.js';
import { count } from './words.js';

/** More are for a spreadsheet. */
const SHOWN = 100;
const READ_BYTES = 100_000;

const columns = [
  { name: 'Row', kind: 'named', cell: ({ row }) => row },
  { name: 'Value', kind: 'vin main', cell: ({ value }) => value },
  { name: 'Why', kind: 'note', cell: ({ message }) => message },
];

/** Refused values with why, in a part of the page that scrolls. */
export const RefusedTable = ({ rows }) => html`<${Scroll} columns=${columns} rows=${rows} />`;

const Scroll = ({ columns: own, rows }) => html`<div class="scroll" tabindex="0" role="region" aria-label="Refused">
  <${Table} label="Refused" columns=${own} rows=${rows.slice(0, SHOWN)} />
</div>`;

/** Saves the refused rows of an import as a file that can be mended and sent again. */
export const SaveRefused = ({ importId, name }) =>
  html`<button type="button" onClick=${attempt(() => saveRefused(importId, name))}>Download refused rows</button>`;

/** The refused rows of an import with the columns of its file, read when they are wanted. */
export function RefusedRows({ importId, total }) {
  const [{ records, error }, set] = useState({});
  const read = () =>
    startOf(`/imports/${importId}/rejected.csv`, READ_BYTES).then(
      (text) => set({ records: recordsOf(text) }),
      (reason) => set({ error: reason }),
    );
  useEffect(() => {
    read();
  }, []);
  if (error) return html`<${Failure} error=${error} retry=${read} />`;
  if (!records) return html`<${Waiting} rows=${2} />`;
  const [names, ...rest] = records;
  const rows = rest.map((cells, id) => ({ id, cells }));
  const shown = Math.min(rows.length, SHOWN);
  return html`<${Scroll} columns=${columnsOf(names)} rows=${rows} />
    ${total > shown && html`<p class="dim">… and ${count(total - shown)} more in the file.</p>`}`;
}

function columnsOf(names) {
  const cell = (at) => (row) => row.cells[at];
  const why = names.indexOf('error_message');
  const own = names.slice(0, why - 1).map((name, at) => ({ name, kind: at === 0 ? 'main' : 'named', cell: cell(at) }));
  return [...own, { name: 'Why', kind: 'note', cell: cell(why) }];
}
