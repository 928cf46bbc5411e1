import { useEffect, useRef } from 'preact/hooks';
import { html, t } from './html.js';
import { go, hrefOf, route } from './router.js';
import { tooFew } from './words.js';

/** The gateway is asked after this pause in typing. */
const TYPED_MS = 250;

/** Fields above a list, with their values in the address: `name`, `label`, and `options` for a choice. */
export function Search({ fields, parts, query }) {
  // The address may have changed since the user typed.
  const look = (changed) =>
    go(hrefOf(parts, { ...route.value.query, after: '', before: '', ...changed }), { replace: true });
  const isShort = ({ name, minlength }) => query[name]?.length < minlength;
  return html`<form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
    ${fields.map(({ name, ...field }) => {
      const part = { ...field, value: query[name] ?? '', set: (value) => look({ [name]: value }) };
      return field.options ? html`<${Choice} key=${name} ...${part} />` : html`<${Typed} key=${name} ...${part} />`;
    })}
  </form>
  ${fields.some(isShort) && html`<p class="hint" role="status">${tooFew}</p>`}`;
}

const Choice = ({ label, options, value, set }) =>
  html`<select aria-label=${label} value=${value} onChange=${({ currentTarget }) => set(currentTarget.value)}>
    ${options.map(([one, name]) => html`<option key=${one} value=${one} selected=${one === value}>${name}</option>`)}
  </select>`;

function Typed({ label, value, set, ...rest }) {
  const timer = useRef(/** @type {any} */ (null));
  const field = useRef(/** @type {any} */ (null));
  useEffect(() => () => clearTimeout(timer.current), []);
  // A link may change the address, too.
  useEffect(() => {
    if (document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const type = ({ currentTarget }) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(currentTarget.value.trim()), TYPED_MS);
  };
  return html`<input ref=${field} type="search" placeholder=${t('{label} …', { label })} aria-label=${label} spellcheck=${false}
    autocomplete="off" onInput=${type} ...${rest} />`;
}

/** A section around a paged list: a new page, which the address or `page` names, scrolls to its top and takes the focus. */
export function Listing({ label, page: named, children }) {
  const { after = '', before = '' } = route.value.query;
  const page = named ?? after + before;
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
