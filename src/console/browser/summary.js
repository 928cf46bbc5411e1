import { html } from './html.js';
import { Bar } from './parts.js';
import { count, statuses } from './words.js';

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
