import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { Failure } from './parts.js';

/** The heading has been told of once somebody has gone from one page to another: the first page is the browser's to tell of. */
let shown = '';

const blank = html`<span class="blank word" />`;

/**
 * A page: its title, what stands below it, what can be done, and where it lies. While what it has `asked` is on its way, parts are
 * blank; if it cannot be read, the page says why, and `label` what it would have been.
 */
export function Page({ title, label, about, actions, back, asked, children }) {
  const waits = asked && !asked.data;
  const failed = waits && asked.error;
  const heading = useRef(/** @type {any} */ (null));
  useEffect(() => {
    document.title = title ? `${title} – Fleet Gateway` : 'Fleet Gateway';
  }, [title]);
  useEffect(() => {
    const here = location.hash.split('?')[0];
    if (shown && shown !== here) {
      heading.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    shown = here || '#/';
  }, []);
  return html`<div class="page">
    <header class="title">
      <div>
        ${back && html`<a class="back" href=${back.href}><span aria-hidden="true">←</span> ${back.name}</a>`}
        <h1 ref=${heading} tabindex="-1">${title || (failed ? label : blank)}</h1>
        ${!failed && (about || waits) && html`<p class="about">${about ?? blank}</p>`}
      </div>
      ${actions && !failed && html`<div class="actions">${actions}</div>`}
    </header>
    ${failed ? html`<${Failure} error=${asked.error} retry=${asked.reload} />` : children}
  </div>`;
}

/** The sides of one thing, pairs of value and name, as links. Where there is no room for all, `present` is scrolled to. */
export function Sides({ label, sides, present = '', hrefFor, children }) {
  const nav = useRef(/** @type {any} */ (null));
  useEffect(() => nav.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [present]);
  return html`<nav ref=${nav} class="sides" aria-label=${label}>
    ${sides.map(([side, name]) => html`<a key=${side} href=${hrefFor(side)} aria-current=${side === present ? 'page' : undefined}>${name}</a>`)}
    ${children}
  </nav>`;
}
