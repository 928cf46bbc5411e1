import { computed, signal } from '@preact/signals';

/** The present address: the parts of its path, and its query. */
export const route = signal(read());
/** The page at the present address, whatever its query. */
export const page = computed(() => route.value.parts.join('/'));

addEventListener('hashchange', () => (route.value = read()));

function read() {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Decodes a part; an invalid one stays as it is and matches no page. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An object without its empty members. */
export const filledIn = (all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value));

/** The address of a page of the console; empty query values are left out. */
export function hrefOf(parts, query = {}) {
  const search = `${new URLSearchParams(filledIn(query))}`;
  return `#/${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

/** Opens an address; `replace` replaces the present history entry, for changes of the query only. */
export function go(href, { replace = false } = {}) {
  if (href === location.hash) return;
  if (replace) {
    history.replaceState(null, '', href);
    route.value = read();
  } else location.hash = href;
}

/** The variables of a list's page that an address's query selects. */
export function pageOf(/** @type {any} */ { after, before }, size) {
  return before ? { last: size, before } : { first: size, after };
}

/** An order of an address, such as `VIN` or, descending, `-VIN`, as a query's variable. */
export const orderOf = (order) =>
  order && { field: order.replace('-', ''), direction: order.startsWith('-') ? 'DESC' : 'ASC' };
