import { useState } from 'preact/hooks';
import { meantBy, said } from './codes.js';
import { attempt } from './dialog.js';
import { saveAnswer } from './download.js';
import { count, html, t } from './html.js';
import { ContractLinks, Elsewhere } from './links.js';
import { Failure, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { Table } from './table.js';

const PAGE = 100;
/** More rows belong in a spreadsheet. */
const MOST = 1_000;

const refusedQuery = `query Refused($id: ID!, $first: Int!) {
  import(id: $id) { rejected(first: $first) { nodes { row value code message } } }
}`;

/** What stands in the way is named in so many rows; the others have their reason alone. */
const NAMED = 20;
const inTheWay = ({ at, code, value, conflicts }) =>
  at < NAMED &&
  html`${conflicts?.length > 0 && html`<${ContractLinks} ids=${conflicts} />`}
    ${code === 'VIN_IN_ANOTHER_FLEET' && html`<${Elsewhere} vin=${value} />`}`;
const valueCell = ({ row, value, edits }) =>
  edits
    ? html`<input class="vin" name=${`row ${row}`} aria-label=${t('VIN in row {row}', { row })} spellcheck=${false} autocomplete="off" defaultValue=${value} />`
    : value;

function reasonCell(row) {
  if (row.added) return html`<span class="badge eligible">Added</span>`;
  const vin = row.mend && meantBy(row);
  const suggestion =
    vin &&
    html`<button type="button" class="link" onClick=${(event) => row.mend(vin, event)}>${t('Did you mean {vin}?', { vin })}</button>`;
  return html`${vin ? said(row, '', false) : said(row)} ${suggestion} ${inTheWay(row)}`;
}
const columns = [
  { name: t('Row'), kind: 'named', cell: ({ row }) => row },
  { name: t('Value'), kind: 'vin main', cell: valueCell },
  { name: t('Reason'), kind: 'note', cell: reasonCell },
];

/**
 * Refused values with reasons, and with rows if they have any, in a scrolling region. In rows that can be corrected, `mend` takes the
 * VIN that was probably meant; with `edits` the value is a field.
 */
export const RefusedTable = ({ rows }) => html`<div class="scroll" tabindex="0" role="region" aria-label="Rejected">
  <${Table} label="Rejected" columns=${rows[0].row ? columns : columns.slice(1)} rows=${rows.map((one, at) => ({ id: one.row, at, ...one }))} />
</div>`;

const repeated = [
  { name: t('Row'), kind: 'named', cell: ({ row }) => row },
  { name: t('VIN'), kind: 'vin main', cell: ({ value }) => value },
  { name: t('First in row'), kind: 'named', cell: ({ firstRow }) => firstRow },
];

/** Rows whose VIN an earlier row has. */
export const RepeatedRows = ({
  rows,
}) => html`<div class="scroll" tabindex="0" role="region" aria-label="Rows that repeat a VIN">
  <${Table} label="Rows that repeat a VIN" columns=${repeated} rows=${rows.map((one) => ({ id: one.row, ...one }))} />
</div>`;

/** Saves the refused rows of an import as a file to correct and upload again; `name` is that of the first file. */
export const SaveRefused = ({ importId, name }) =>
  html`<button type="button" onClick=${attempt(() => saveAnswer(`/imports/${importId}/rejected.csv`, name.replace(/(\.\w+)?$/, '.rejected.csv')))}>Download rejected rows</button>`;

export function RefusedRows({ importId, total, show, ...others }) {
  const [first, setFirst] = useState(PAGE);
  const { data, error, reload } = useQuery(refusedQuery, { id: importId, first }, () => false);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Waiting} rows=${2} />`;
  const rows = data.import.rejected.nodes;
  const rest = total - rows.length;
  return html`<${show} rows=${rows} ...${others} />
    ${rest > 0 && html`<p class="dim">… and ${count(rest)} more.</p>`}
    ${rest > 0 && first < MOST && html`<button type="button" onClick=${() => setFirst(MOST)}>Show more</button>`}`;
}
