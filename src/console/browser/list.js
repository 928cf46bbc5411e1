import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { attempt, onKey } from './dialog.js';
import { count, html, t } from './html.js';
import { Empty, Failure, Pager, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, orderOf, pageOf, route } from './router.js';
import { Listing, Search } from './search.js';
import { Table } from './table.js';
import { known } from './words.js';

const PAGE = 50;

/** A list; its address has all but the selection. `asks`: document, events that reload it, filter of the address; `show` gets the rest. */
export function List({ asks, filters, what, verbs, empty, save, show = Table, ...table }) {
  const { document, wakes, filterOf, order } = asks;
  const { parts, query } = route.value;
  const sorts = table.columns?.flatMap(({ sort }) => (sort ? [[sort], [`-${sort}`]] : [])) ?? [];
  const orders = [...sorts, ...(filters?.find(({ name }) => name === 'order')?.options ?? [])];
  const sorted = known(Object.fromEntries(orders), query.order) || order;
  const asked = { filter: filterOf(query), orderBy: orderOf(sorted), ...pageOf(query, PAGE) };
  const { data, error, loading, reload } = useQuery(document, asked, wakes);
  const selection = useSelection(document, asked);
  const [list] = Object.values(data ?? {});
  return html`<${Listing} label=${table.label}>
    ${filters && html`<${Search} fields=${filters} parts=${parts} query=${query} />`}
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!list && !error && html`<${Waiting} rows=${8} kind=${show === Table ? 'line' : 'card'} />`}
    ${list?.totalCount === 0 && empty(query)}
    ${list?.totalCount > 0 && list.nodes.length === 0 && html`<${Empty} title="This page is empty"><p><a href=${hrefOf(parts, { ...query, after: '', before: '' })}>Go to the first page</a></p><//>`}
    ${
      list?.nodes.length > 0 &&
      html`<${show} ...${table} rows=${list.nodes} place=${parts[0]} dim=${loading} selection=${verbs && selection} />
        <${Pager} list=${list} what=${what} parts=${parts} query=${query}>
          ${save && html`<button type="button" class="quiet" onClick=${() => save(query)}>Download all as CSV</button>`}
        <//>`
    }
    ${verbs && html`<${SelectionBar} selection=${selection} verbs=${verbs} list=${list} />`}
  <//>`;
}

/** The most rows that can be selected together. */
const MOST = 10_000;
/** Rows that one request reads. */
const READ = 1_000;
const none = /** @type {{ chosen: Map<string, any>, fitting?: string }} */ ({ chosen: new Map() });

/** The selected rows of a list: single rows, which stay selected on other pages, or all rows that fit the filter. */
export function useSelection(document, { filter, orderBy }) {
  const [{ chosen, fitting }, choose] = useState(none);
  const fits = JSON.stringify(filter);
  const all = fitting === fits;
  const set = (rows, on) => {
    const next = new Map(chosen);
    for (const row of rows) {
      if (on) next.set(row.id, row);
      else next.delete(row.id);
    }
    choose({ chosen: next });
  };
  const has = ({ id }) => all || chosen.has(id);
  const setAll = () => choose({ chosen, fitting: fits });
  const read = (tell) => (all ? allOf(document, { filter, orderBy }, tell) : [...chosen.values()]);
  return { all, size: chosen.size, has, set, setAll, clear: () => choose(none), read };
}

async function allOf(document, variables, tell) {
  const rows = [];
  for (let after; rows.length < MOST && after !== null; ) {
    const [{ nodes, pageInfo }] = Object.values(await ask(document, { ...variables, first: READ, after }));
    rows.push(...nodes);
    tell(rows.length);
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  }
  return rows;
}

/** Actions on selected rows: each of `verbs` has a `name`, and a `run` that takes the rows and a function to clear the selection. */
export function SelectionBar({ selection, verbs, list }) {
  const [read, setRead] = useState(/** @type {number | null} */ (null));
  const { all, clear } = selection;
  const { totalCount: total = 0, totalCountIsExact: exact } = list ?? {};
  const size = all ? total : selection.size;
  const bar = useRef(/** @type {any} */ (null));
  useEffect(() => onKey('a', () => bar.current?.querySelector('.actions button').focus()), []);
  // The pressed button is no longer there; focus goes to the list.
  useEffect(() => {
    if (size === 0 && document.activeElement === document.body) {
      /** @type {any} */ (document.querySelector('.listing'))?.focus({ preventScroll: true });
    }
  }, [size === 0]);
  if (size === 0) return null;
  const act = (run) =>
    attempt(async () => {
      if (read !== null) return;
      setRead(0);
      try {
        await run(await selection.read(setRead), clear);
      } finally {
        setRead(null);
      }
    });
  const values = { size, total: count(total, exact) };
  const several = size > total ? t('{size} selected', values) : t('{size} of {total} selected', values);
  return html`<section ref=${bar} class="selected" aria-label="Selected">
    <div>
      <b role="status">${read ? t('{read} of {total} read', { read, total }) : several}</b>
      ${!all && total > size && list.nodes.every(selection.has) && html`<${Offer} list=${list} take=${selection.setAll} />`}
    </div>
    <div class="actions">
      ${verbs.map(({ name, run, danger }) => html`<button key=${name} type="button" class=${danger ? 'dangerous' : ''} onClick=${act(run)}>${name}</button>`)}
      <button type="button" class="quiet" onClick=${clear}>Clear selection</button>
      <span class="dim keys">Actions <kbd>${'A'}</kbd></span>
    </div>
  </section>`;
}

const Offer = ({ list: { totalCount, totalCountIsExact }, take }) =>
  totalCountIsExact && totalCount <= MOST
    ? html`<button type="button" class="link" onClick=${take}>Select all ${count(totalCount)} matching</button>`
    : html`<p class="hint">You can select at most ${count(MOST)} at once. Filter the list.</p>`;
