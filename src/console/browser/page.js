import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { Failure } from './parts.js';

/** The heading has been told of once somebody has gone from one page to another: the first page is the browser's to tell of. */
let shown = '';

/** A page: its title, what stands below it, what can be done, and where it lies; or why it cannot be shown. */
export function Page({ title, about, actions, back, error, retry, children }) {
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
        <h1 ref=${heading} tabindex="-1">${title || html`<span class="blank word" />`}</h1>
        ${about && html`<p class="about">${about}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${error ? html`<${Failure} error=${error} retry=${retry} />` : children}
  </div>`;
}

/** The sides of one thing, as links. Where there is no room for all, the present one is scrolled to. */
export function Sides({ label, sides }) {
  const nav = useRef(/** @type {any} */ (null));
  const present = sides.find(({ here }) => here)?.name;
  useEffect(() => nav.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [present]);
  return html`<nav ref=${nav} class="sides" aria-label=${label}>
    ${sides.map(({ name, href, here }) => html`<a key=${name} href=${href} aria-current=${here ? 'page' : undefined}>${name}</a>`)}
  </nav>`;
}
