import { signal } from '@preact/signals';

/** The present address: the parts of its path, and its query. */
export const route = signal(read());

addEventListener('hashchange', () => {
  route.value = read();
});

function read() {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** A part that cannot be decoded stays as it is, and leads to no page. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page of the console; what has no value is left out. */
export function hrefOf(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : '';
  return `#/${parts.map(encodeURIComponent).join('/')}${search}`;
}

/** Shows this page; in place of the one that is shown where it is the same page asked differently. */
export function go(href, { replace = false } = {}) {
  if (href === location.hash) return;
  if (replace) {
    history.replaceState(null, '', href);
    route.value = read();
  } else location.hash = href;
}

/** The page of a list that a query of an address names, as variables of a document. */
export function pageOf(/** @type {any} */ { after, before }, size) {
  return before ? { last: size, before } : { first: size, after };
}

/** An order of the address, such as `VIN` or, the other way round, `-VIN`, as a variable of a query. */
export const orderOf = (order) =>
  order && { field: order.replace('-', ''), direction: order.startsWith('-') ? 'DESC' : 'ASC' };
