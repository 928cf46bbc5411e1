import { useState } from 'preact/hooks';
import { said } from './codes.js';
import { counted, html, t } from './html.js';
import { Earlier, Empty, Failure, Time, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { RefusedRows, RefusedTable, SaveRefused } from './refused.js';
import { route } from './router.js';
import { uploadForm } from './upload-panel.js';
import { Corrections } from './vins.js';

const LAST = 50;

const importsQuery = `query Imports($id: ID!, $last: Int, $before: String) {
  fleet(id: $id) {
    imports(last: $last, before: $before) {
      pageInfo { hasPreviousPage startCursor }
      nodes { id fileName state received created existing rejected: rejectedCount dryRun failure code: failureCode startedAt }
    }
  }
}`;

const states = { RUNNING: t('In progress'), STORING: t('Saving'), COMPLETED: t('Completed'), FAILED: t('Failed') };

export function Imports({ fleetId }) {
  const { parts, query } = route.value;
  const variables = { id: fleetId, last: LAST, before: query.before };
  const { data, error, reload } = useQuery(importsQuery, variables, (event) => event.fleetId === fleetId);
  const { nodes, pageInfo } = data?.fleet.imports ?? {};
  const imports = nodes?.toReversed();
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!imports) return html`<${Waiting} rows=${4} />`;
  const check = html`<button type="button" onClick=${() => uploadForm(fleetId)}>Check a file</button>`;
  if (imports.length === 0) {
    return html`<${Empty} title="No files yet"><p>Drop a CSV, Excel or JSON file on this page, or choose “Upload a file”.</p>${check}<//>`;
  }
  return html`<p class="row end">${check}</p>
    <ul class="list">${imports.map((one) => html`<${Import} key=${one.id} fleetId=${fleetId} ...${one} />`)}</ul>
    <${Earlier} info=${pageInfo} parts=${parts} query=${query} />`;
}

function Import({
  id,
  fleetId,
  fileName,
  state,
  received,
  created,
  existing,
  rejected,
  dryRun,
  failure,
  code,
  startedAt,
}) {
  const [open, setOpen] = useState(false);
  const parts = [
    counted(received, 'row'),
    dryRun ? t('Would be added: {count}', { count: created }) : t('{count} added', { count: created }),
    existing > 0 && t('{count} already in the fleet', { count: existing }),
    rejected > 0 && t('{count} rejected', { count: rejected }),
  ];
  // Of a file that was to be added whole or not at all, the corrected rows alone would be half.
  const mends = !dryRun && code !== 'ROWS_REJECTED';
  return html`<li>
    <div class="row apart">
      <div>
        ${fileName && html`<p class="address">${fileName}</p>`}
        <p><span class=${`badge ${state.toLowerCase()}`}>${states[state]}</span> <span class="dim"><${Time} at=${startedAt} /></span></p>
        <p>${parts.filter(Boolean).join(' · ')}</p>
        ${failure && html`<p class="why">${said({ code: code ?? 'OTHER', message: failure }, 'failure')}</p>`}
        ${dryRun && html`<p class="dim">Checked only. Nothing was saved.</p>`}
      </div>
      ${rejected > 0 && html`<${SaveRefused} importId=${id} name=${fileName ?? id} />`}
    </div>
    ${rejected > 0 && html`<details onToggle=${({ currentTarget }) => setOpen(currentTarget.open)}><summary>Rejected rows</summary>${open && html`<${RefusedRows} importId=${id} total=${rejected} show=${mends ? Corrections : RefusedTable} fleetId=${fleetId} />`}</details>`}
  </li>`;
}
