import { html, t } from './html.js';
import { hrefOf, route } from './router.js';

/**
 * The console's one table; rows become cards where there is no room for columns. A column has a `name`, `cell(row)`, a `kind` that
 * says where it stands on a card, and `sort` where the gateway can sort by it. `groupOf` gives what stands above rows that are alike.
 */
export function Table({ label, columns, rows, dim, selection, nameOf, groupOf }) {
  const groups = groupOf ? [...Map.groupBy(rows, (row) => groupOf(row).key).values()] : [rows];
  const width = columns.length + (selection ? 1 : 0);
  const body = (group) => html`<tbody role="rowgroup" key=${groupOf?.(group[0]).key}>
    ${groupOf && html`<tr role="row" class="group"><th role="rowheader" colspan=${width} scope="rowgroup">${groupOf(group[0], group).head}</th></tr>`}
    ${group.map((row) => html`<${Row} key=${row.id} row=${row} columns=${columns} selection=${selection} nameOf=${nameOf} />`)}
  </tbody>`;
  return html`<table class=${`rows ${dim ? 'dim' : ''} ${selection ? 'picked' : ''}`} role="table" aria-label=${label}>
    <thead role="rowgroup">
      <tr role="row">
        ${selection && html`<th role="columnheader" class="pick"><${PickAll} rows=${rows} selection=${selection} /></th>`}
        ${columns.map((column) => html`<${Head} key=${column.name} ...${column} />`)}
      </tr>
    </thead>
    ${groups.map(body)}
  </table>`;
}

/** The address has the order, such as `VIN` or, the other way round, `-VIN`. */
function Head({ name, sort, kind }) {
  const { parts, query } = route.value;
  if (!sort) return html`<th role="columnheader" class=${kind}>${name}</th>`;
  const [up, down] = [query.order === sort, query.order === `-${sort}`];
  const href = hrefOf(parts, { ...query, after: '', before: '', order: up ? `-${sort}` : sort });
  return html`<th role="columnheader" class=${kind} aria-sort=${up ? 'ascending' : down ? 'descending' : undefined}>
    <a href=${href}>${name} <span aria-hidden="true">${up ? '↑' : down ? '↓' : '↕'}</span></a>
  </th>`;
}

function Row({ row, columns, selection, nameOf }) {
  const picked = selection?.has(row);
  return html`<tr role="row" class=${picked ? 'chosen' : ''}>
    ${
      selection &&
      html`<td role="cell" class="pick">
        <input type="checkbox" checked=${picked} aria-label=${t('Select {name}', { name: nameOf(row) })} onChange=${() => selection.set([row], !picked)} />
      </td>`
    }
    ${columns.map(({ name, kind, cell }) => html`<td key=${name} role="cell" class=${kind} data-name=${name}>${cell(row)}</td>`)}
  </tr>`;
}

function PickAll({ rows, selection }) {
  const some = rows.some((row) => selection.has(row));
  const all = rows.every((row) => selection.has(row));
  return html`<label>
    <input type="checkbox" checked=${all} indeterminate=${some && !all} aria-label="Select this page" onChange=${() => selection.set(rows, !all)} />
    <span aria-hidden="true">This page</span>
  </label>`;
}
