import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { away, unreachable } from './api.js';
import { explain, said } from './codes.js';
import { count, counted, html, locale, t } from './html.js';
import { ContractLinks } from './links.js';
import { hrefOf } from './router.js';
import { remember } from './session.js';
import { statuses, statusNames, summarised, turns } from './words.js';

/** A bar of statuses: the length of each part is its number of vehicles. */
export function Bar({ summary }) {
  const parts = statuses.filter((one) => summary[one.count] > 0);
  return html`<div class="bar" role="img" aria-label=${summarised(summary) || t('No vehicles')}>
    ${parts.map((one) => html`<span key=${one.status} class=${`part ${one.count}`} style=${{ flexGrow: summary[one.count] }} />`)}
  </div>`;
}

const none = Object.fromEntries(statuses.map((one) => [one.count, 0]));

/** The number of vehicles by status, as links to lists of them; without a `summary`, placeholders. */
export const Summary = ({ summary, status, hrefFor }) => html`<section class="summary" aria-label="Eligibility">
  <${Bar} summary=${summary ?? none} />
  <ul class="picks">
    ${statuses.map((one) => html`<${Pick} key=${one.status} href=${hrefFor(one.status)} value=${summary?.[one.count]} chosen=${one.status === status}><i class=${`dot ${one.count}`} />${one.name}<//>`)}
  </ul>
</section>`;

export const Pick = ({ href, value, exact, chosen, children }) => html`<li>
  <a href=${href} class=${value ? '' : 'zero'} aria-current=${chosen ? 'true' : undefined}>
    <b>${value === undefined ? html`<span class="blank short" />` : count(value, exact)}</b>
    <span>${children}</span>
  </a>
</li>`;

export function Legend({ summary }) {
  const parts = statuses.filter((one) => summary[one.count] > 0);
  return html`<ul class="legend">
    ${parts.map((one) => html`<li key=${one.status}><i class=${`dot ${one.count}`} />${one.name} <b>${count(summary[one.count])}</b></li>`)}
  </ul>`;
}

export const Badge = ({ status }) =>
  html`<span class=${`badge ${status.toLowerCase()}`}>${statusNames[status] ?? status}</span>`;

export const Why = ({ reason }) =>
  reason && html`<span class="why">${said(reason)}</span> <${Turn} actor=${reason.actor} />`;

/** Nobody has to act while a contract only waits. */
export const Turn = ({ actor }) =>
  turns[actor] && html`<span class=${`turn ${actor.toLowerCase()}`}>${turns[actor]}</span>`;
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** An error with those of its fields; `about` says what becomes of the request. */
export const Failure = ({ error, retry, about }) => html`<div class="failure" role="alert">
  <div>
    <p>${explain(error)} ${about}</p>
    ${error.details?.conflicts && html`<p><${ContractLinks} ids=${error.details.conflicts} /></p>`}
    ${error.errors?.slice(1).map((one) => html`<p key=${one.path}>${said(one)}</p>`)}
  </div>
  ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
</div>`;

export const link = (parts, text, query = {}) => html`<a href=${hrefOf(parts, query)}>${text}</a>`;

export const Waiting = ({ rows = 6, kind = 'line' }) => html`<div class="waiting" role="status" aria-label="Loading">
  ${Array.from({ length: rows }, (_, at) => html`<div key=${at} class=${`blank ${kind}`} />`)}
</div>`;

/** A component `of` a module that is loaded at its first use; without the gateway, the page is loaded again when it is back. */
export function Later({ load, of, ...rest }) {
  const [module, setModule] = useState(/** @type {any} */ (null));
  useEffect(() => void load().then(setModule, () => setModule({ error: unreachable() })), []);
  useEffect(() => void (module?.error && !away.value && location.reload()), [away.value]);
  if (module?.error) return html`<${Failure} error=${module.error} />`;
  return module ? html`<${of(module)} ...${rest} />` : html`<${Waiting} />`;
}

/** A function that is loaded at its first use. */
export const later = (load) => () => load().then((act) => act());

/** Links to the previous and the next page of the list at the address of `parts` and `query`. */
export function Pager({ list, what, parts, query, children }) {
  const { hasPreviousPage, hasNextPage, startCursor, endCursor } = list.pageInfo;
  const rest = { ...query, after: '', before: '' };
  return html`<div class="pager">
    <p>${counted(list.totalCount, what, list.totalCountIsExact)}</p>
    ${children}
    ${(hasPreviousPage || hasNextPage) && html`<nav aria-label="Pages">${hasPreviousPage && html`<a class="button" href=${hrefOf(parts, { ...rest, before: startCursor })}>Previous</a>`}${hasNextPage && html`<a class="button" href=${hrefOf(parts, { ...rest, after: endCursor })}>Next</a>`}</nav>`}
  </div>`;
}

/** A link to earlier items of a list that begins with the latest, for pages in either direction. */
export function Earlier({ info, parts, query, children }) {
  const { before = '', after = '', ...rest } = query;
  const more = info.hasNextPage ? { after: info.endCursor } : info.hasPreviousPage && { before: info.startCursor };
  return html`<div class="pager">
    <p>${children} ${(before || after) && html`<a href=${hrefOf(parts, rest)}>Back to the latest</a>`}</p>
    ${more && html`<a class="button" href=${hrefOf(parts, { ...rest, ...more })}>Earlier</a>`}
  </div>`;
}

export const Fact = ({ label, bad, children }) =>
  html`<div class=${bad ? 'fact bad' : 'fact'}><dt>${label}</dt><dd>${children}</dd></div>`;

/** The address of the last page; the heading takes the focus when it changes, but not on the first page. */
let shown = '';

const blank = html`<span class="blank word" />`;

/** A page. While its query (`asked`) loads, parts are blank; if it fails, the error stands below `label`, with what is left of a thing that is gone. */
export function Page({ title, label, about, actions, back, asked, gone, children }) {
  const waits = asked && !asked.data;
  // What is gone is no longer shown, although it was read before.
  const isGone = asked?.error?.code.endsWith('_NOT_FOUND');
  const failed = asked?.error && (waits || isGone);
  const heading = useRef(/** @type {any} */ (null));
  useEffect(() => {
    document.title = title ? `${title} – Fleet Gateway` : 'Fleet Gateway';
    if (title && back && !failed) remember({ href: location.hash.split('?')[0], name: title, about: back.name });
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
    ${failed ? html`<${Failure} error=${asked.error} retry=${!isGone && asked.reload} />${gone}` : children}
  </div>`;
}

/** Tabs from pairs of value and name, as links. Where not all fit, the tabs scroll to `present`. */
export function Sides({ label, sides, present = '', hrefFor, children }) {
  const nav = useRef(/** @type {any} */ (null));
  useEffect(() => nav.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [present]);
  return html`<nav ref=${nav} class="sides" aria-label=${label}>
    ${sides.map(([side, name]) => html`<a key=${side} href=${hrefFor(side)} aria-current=${side === present ? 'page' : undefined}>${name}</a>`)}
    ${children}
  </nav>`;
}

const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 20_000);

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const whole = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const utcDay = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const steps = /** @type {[any, number][]} */ ([
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]);

/** A moment relative to now; its title is the exact time. */
export function Time({ at }) {
  return html`<time dateTime=${at} title=${whole.format(new Date(at))}>${spoken(at)}</time>`;
}

/** A day in local time; with `utc`, in UTC, as the gateway counts days. */
export const Day = ({ at, utc }) => html`<time dateTime=${at}>${(utc ? utcDay : day).format(new Date(at))}</time>`;

function spoken(at) {
  // `now` may be some seconds old; a recent moment must not appear to be in the future.
  const seconds = (Date.parse(at) - Math.max(now.value, Date.now())) / 1000;
  const [unit, size = 1] = steps.find(([, least]) => Math.abs(seconds) >= least) ?? [];
  if (!unit) return seconds > 5 ? t('in a moment') : t('just now');
  return Math.abs(seconds) > 30 * 86_400 ? day.format(new Date(at)) : relative.format(Math.trunc(seconds / size), unit);
}

/** The day of local time, as fields of type date take it. */
export const localDay = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
