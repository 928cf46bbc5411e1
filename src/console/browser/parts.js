import { count, counted, html, t } from './html.js';
import { hrefOf } from './router.js';
import { explain, statuses, statusNames, summarised, turns } from './words.js';

/** A bar with a part for each status, as long as its number of vehicles. */
export function Bar({ summary }) {
  const parts = statuses.filter((one) => summary[one.count] > 0);
  return html`<div class="bar" role="img" aria-label=${summarised(summary) || t('No vehicles')}>
    ${parts.map(
      (one) => html`<span key=${one.status} class=${`part ${one.count}`} style=${{ flexGrow: summary[one.count] }} />`,
    )}
  </div>`;
}

const none = Object.fromEntries(statuses.map((one) => [one.count, 0]));

/** How many vehicles have each status, as links to lists of them; without a `summary` it is on its way. */
export const Summary = ({ summary, status, hrefFor }) => html`<section class="summary" aria-label="Eligibility">
  <${Bar} summary=${summary ?? none} />
  <ul class="picks">
    ${statuses.map(
      (one) => html`<li key=${one.status}>
        <a href=${hrefFor(one.status)} class=${summary?.[one.count] ? '' : 'zero'} aria-current=${one.status === status ? 'true' : undefined}>
          <b>${summary ? count(summary[one.count]) : html`<span class="blank short" />`}</b>
          <span><i class=${`dot ${one.count}`} />${one.name}</span>
        </a>
      </li>`,
    )}
  </ul>
</section>`;

/** The names and numbers of the parts of a bar. */
export function Legend({ summary }) {
  const parts = statuses.filter((one) => summary[one.count] > 0);
  return html`<ul class="legend">
    ${parts.map(
      (one) =>
        html`<li key=${one.status}><i class=${`dot ${one.count}`} />${one.name} <b>${count(summary[one.count])}</b></li>`,
    )}
  </ul>`;
}

export const Badge = ({ status }) =>
  html`<span class=${`badge ${status.toLowerCase()}`}>${statusNames[status] ?? status}</span>`;

/** Why a vehicle is not eligible, and who must act. */
export const Why = ({ reason }) =>
  reason && html`<span class="why">${reason.message}</span> <${Turn} actor=${reason.actor} />`;

export const Turn = ({ actor }) => html`<span class=${`turn ${actor.toLowerCase()}`}>${turns[actor]}</span>`;

export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** An error with its messages of fields; `about` says what becomes of the request. */
export const Failure = ({ error, retry, about }) => html`<div class="failure" role="alert">
  <div>
    <p>${explain(error)} ${about}</p>
    ${error.errors?.map(({ path, message }) => html`<p key=${path}>${path}: ${message}</p>`)}
  </div>
  ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
</div>`;

/** A link to a page of the console. */
export const link = (parts, text, query = {}) => html`<a href=${hrefOf(parts, query)}>${text}</a>`;

/** Something in place of rows that are on their way. */
export const Waiting = ({ rows = 6, kind = 'line' }) => html`<div class="waiting" role="status" aria-label="Loading">
  ${Array.from({ length: rows }, (_, at) => html`<div key=${at} class=${`blank ${kind}`} />`)}
</div>`;

/** To the pages before and after this one; `parts` and `query` are where we are. */
export function Pager({ info, total, what, parts, query, children }) {
  const { hasPreviousPage, hasNextPage, startCursor, endCursor } = info;
  const rest = { ...query, after: '', before: '' };
  return html`<div class="pager">
    <p>${counted(total, what)}</p>
    ${children}
    ${
      (hasPreviousPage || hasNextPage) &&
      html`<nav aria-label="Pages">
      ${hasPreviousPage && html`<a class="button" href=${hrefOf(parts, { ...rest, before: startCursor })}>Previous</a>`}
      ${hasNextPage && html`<a class="button" href=${hrefOf(parts, { ...rest, after: endCursor })}>Next</a>`}
    </nav>`
    }
  </div>`;
}

/** Leads to earlier pages of a list that shows its latest items first, whichever way the gateway counts its pages. */
export function Earlier({ info, parts, query, children }) {
  const { before = '', after = '', ...rest } = query;
  const more = info.hasNextPage ? { after: info.endCursor } : info.hasPreviousPage && { before: info.startCursor };
  return html`<div class="pager">
    <p>${children} ${(before || after) && html`<a href=${hrefOf(parts, rest)}>Back to the latest</a>`}</p>
    ${more && html`<a class="button" href=${hrefOf(parts, { ...rest, ...more })}>Earlier</a>`}
  </div>`;
}

/** The number of a thing, and its name below. */
export const Fact = ({ label, children }) => html`<div class="fact"><dt>${label}</dt><dd>${children}</dd></div>`;
