import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { Empty, Failure, Pager, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, orderOf, pageOf, route } from './router.js';
import { Search } from './search.js';
import { SelectionBar, useSelection } from './selection.js';
import { Table } from './table.js';

const PAGE = 50;

/**
 * A list that is filtered, sorted, paged and chosen from; the address has all of that but the choice. `filterOf` makes a filter of
 * the fields above it, `save` a file of the whole list. What is not named here is for the table, or for what is to `show` in its place.
 */
export function List({
  document,
  wakes,
  filters,
  filterOf,
  what,
  verbs,
  empty,
  order,
  save,
  show = Table,
  waiting = 'line',
  ...table
}) {
  const { parts, query } = route.value;
  const asked = { filter: filterOf(query), orderBy: orderOf(query.order || order), ...pageOf(query, PAGE) };
  const { data, error, loading, reload } = useQuery(document, asked, wakes);
  const selection = useSelection();
  const [list] = Object.values(data ?? {});
  return html`<${Listing} label=${table.label}>
    ${filters && html`<${Search} fields=${filters} parts=${parts} query=${query} />`}
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!list && !error && html`<${Waiting} rows=${8} kind=${waiting} />`}
    ${list?.totalCount === 0 && empty(query)}
    ${list?.totalCount > 0 && list.nodes.length === 0 && html`<${Empty} title="Nothing is left here"><p><a href=${hrefOf(parts, { ...query, after: '', before: '' })}>To the first page</a></p><//>`}
    ${
      list?.nodes.length > 0 &&
      html`<${show} ...${table} rows=${list.nodes} dim=${loading} selection=${verbs && selection} />
        <${Pager} info=${list.pageInfo} total=${list.totalCount} what=${what} parts=${parts} query=${query}>
          ${save && html`<button type="button" class="quiet" onClick=${() => save(query)}>Download all as CSV</button>`}
        <//>`
    }
    ${verbs && html`<${SelectionBar} selection=${selection} verbs=${verbs} />`}
  <//>`;
}

/** Holds a list that has pages: another page is shown from its top, and has the focus. The address or `page` names it. */
export function Listing({ label, page = pageOfAddress(), children }) {
  const top = useRef(/** @type {any} */ (null));
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    top.current.focus({ preventScroll: true });
    top.current.scrollIntoView({ block: 'start' });
  }, [page]);
  return html`<section ref=${top} class="listing" tabindex="-1" aria-label=${label}>${children}</section>`;
}

function pageOfAddress() {
  const { after = '', before = '' } = route.value.query;
  return after + before;
}
