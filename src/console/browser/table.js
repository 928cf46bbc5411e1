import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { html, t } from './html.js';
import { hrefOf, route } from './router.js';
import { readJson } from './session.js';

/** Hidden columns by page, in the browser's storage. */
const KEY = 'fleet-gateway-hidden';
const hidden = signal(readJson(localStorage.getItem(KEY)) ?? {});
const idOf = ({ sort, kind }) => sort ?? kind;
const isShown = (place, column) => !hidden.value[place]?.includes(idOf(column));

/**
 * The console's table; on narrow screens rows become cards. A column has a `name`, `cell(row)`, a `kind` that places
 * it on a card, and `sort` if the gateway can sort by it. `groupOf` gives the head of a group of rows. With a `place`,
 * users can hide columns.
 */
export function Table({ label, columns: all, rows, dim, selection, nameOf, groupOf, place }) {
  const columns = all.filter((column) => isShown(place, column));
  const groups = groupOf ? [...Map.groupBy(rows, (row) => groupOf(row).key).values()] : [rows];
  const shown = groups.flat();
  const last = useRef(/** @type {any} */ (null));
  /** Selects a row, or with Shift all rows from the one before. */
  const pick = (row, on, ranged) => {
    const ends = [last.current ?? row.id, row.id].map((id) => shown.findIndex((one) => one.id === id));
    const [first, end] = ends.toSorted((a, b) => a - b);
    selection.set(ranged && first >= 0 ? shown.slice(first, end + 1) : [row], on);
    last.current = row.id;
  };
  /** Arrows lead from box to box; with Shift, they select. */
  const press = (event) => {
    const boxes = [...event.currentTarget.querySelectorAll('td.pick input')];
    const at = boxes.indexOf(event.target);
    const next = at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? Infinity);
    if (at < 0 || !boxes[next]) return;
    event.preventDefault();
    boxes[next].focus();
    if (!event.shiftKey) return;
    selection.set([shown[at], shown[next]], true);
    last.current = shown[next].id;
  };
  const width = columns.length + (selection ? 1 : 0);
  const body = (group) => html`<tbody role="rowgroup" key=${groupOf?.(group[0]).key}>
    ${groupOf && html`<tr role="row" class="group"><th role="rowheader" colspan=${width} scope="rowgroup">${groupOf(group[0], group).head}</th></tr>`}
    ${group.map((row) => html`<${Row} key=${row.id} row=${row} columns=${columns} selection=${selection} pick=${pick} nameOf=${nameOf} />`)}
  </tbody>`;
  return html`${place && html`<${Choice} place=${place} columns=${all} />`}
  <table class=${`rows ${dim ? 'dim' : ''} ${selection ? 'picked' : ''}`} role="table" aria-label=${label} onKeyDown=${selection && press}>
    <thead role="rowgroup">
      <tr role="row">
        ${selection && html`<th role="columnheader" class="pick"><${PickAll} rows=${rows} selection=${selection} /></th>`}
        ${columns.map((column) => html`<${Head} key=${column.name} ...${column} />`)}
      </tr>
    </thead>
    ${groups.map(body)}
  </table>`;
}

/** Lets users hide columns, except the one that links to a row's own page. */
function Choice({ place, columns }) {
  const set = (column, shown) => {
    const others = (hidden.value[place] ?? []).filter((id) => id !== idOf(column));
    hidden.value = { ...hidden.value, [place]: shown ? others : [...others, idOf(column)] };
    localStorage.setItem(KEY, JSON.stringify(hidden.value));
  };
  const close = ({ currentTarget, relatedTarget }) => {
    if (!currentTarget.contains(relatedTarget)) currentTarget.open = false;
  };
  return html`<details class="choice" onFocusOut=${close}>
    <summary>Columns</summary>
    <div role="group" aria-label="Columns">
      ${columns
        .filter(({ kind }) => !kind.includes('main'))
        .map(
          (column) =>
            html`<label key=${column.name} class="check"><input type="checkbox" checked=${isShown(place, column)} onChange=${({ currentTarget }) => set(column, currentTarget.checked)} /> ${column.name}</label>`,
        )}
    </div>
  </details>`;
}

/** The head of a column; the address has the order, such as `VIN` or, descending, `-VIN`. */
function Head({ name, sort, kind }) {
  const { parts, query } = route.value;
  if (!sort) return html`<th role="columnheader" class=${kind}>${name}</th>`;
  const [up, down] = [query.order === sort, query.order === `-${sort}`];
  const href = hrefOf(parts, { ...query, after: '', before: '', order: up ? `-${sort}` : sort });
  return html`<th role="columnheader" class=${kind} aria-sort=${up ? 'ascending' : down ? 'descending' : undefined}>
    <a href=${href}>${`${name}\u00a0`}<span aria-hidden="true">${up ? '↑' : down ? '↓' : '↕'}</span></a>
  </th>`;
}

function Row({ row, columns, selection, pick, nameOf }) {
  const picked = selection?.has(row);
  return html`<tr role="row" class=${picked ? 'chosen' : ''}>
    ${selection && html`<td role="cell" class="pick"><input type="checkbox" checked=${picked} aria-label=${t('Select {name}', { name: nameOf(row) })} onClick=${({ shiftKey }) => pick(row, !picked, shiftKey)} /></td>`}
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
