import { useState } from 'preact/hooks';
import { EventList, eventData } from './events.js';
import { counted, html, locale, t } from './html.js';
import { Listing } from './list.js';
import { Page } from './page.js';
import { Earlier, Empty, Failure, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, route } from './router.js';
import { Search } from './search.js';
import { sentenceOf } from './sentences.js';
import { Time } from './time.js';
import { eventTypes } from './words.js';

const historyQuery = `query History($first: Int, $after: String, $fleetId: ID, $types: [EventType!]) {
  history(first: $first, after: $after, fleetId: $fleetId, types: $types) {
    pageInfo { hasNextPage endCursor }
    nodes {
      id type from to actor count vehicleCount fleetId
      fleet { id name }
      statuses { eligible ineligible pending unsupported failed }
      import { id rejected: rejectedCount }
      events(last: 1) {
        nodes {
          type
          data { ${eventData} }
        }
      }
    }
  }
}`;

const PAGE = 50;
const searched = [{ name: 'type', label: t('Type'), options: [['', t('Everything')], ...Object.entries(eventTypes)] }];
const nothing = html`<${Empty} title="Nothing happened yet"><p>Changes show here as they happen.</p><//>`;

const dayOf = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });
const dayNameOf = (/** @type {any} */ { from }) => {
  const name = dayOf.format(new Date(from));
  return name === dayOf.format(new Date()) ? t('Today') : name;
};

/** What was done, or happened, as one, since `from`, the latest first: the page that `variables` ask for, and a `foot` below. */
export function History({ variables, from = 0, empty, foot = (/** @type {any} */ _) => null }) {
  const { fleetId } = variables;
  const wakes = (event) => !fleetId || event.fleetId === fleetId;
  const { data, error, loading, reload } = useQuery(historyQuery, variables, wakes);
  const items = data?.history.nodes.filter(({ to }) => Date.parse(to) >= from);
  return html`${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!items && !error && html`<${Waiting} rows=${8} />`}
    ${items?.length === 0 && empty}
    <div class=${loading ? 'days dim' : 'days'}>
      ${[...Map.groupBy(items ?? [], dayNameOf)].map(
        ([day, group]) => html`<section key=${day}>
          <h2>${day}</h2>
          <ol class="timeline">${group.map((item) => html`<${Item} key=${item.id} item=${item} whole=${!fleetId} />`)}</ol>
        </section>`,
      )}
    </div>
    ${data && foot(data.history.pageInfo)}`;
}

function Item({ item, whole }) {
  const [open, setOpen] = useState(false);
  const { id, type, to, actor, count, vehicleCount, fleet, import: file } = item;
  const [last] = item.events.nodes;
  const { text, detail, tone } = sentenceOf({ ...item, data: last?.type === type ? last.data : {} });
  return html`<li class=${tone}>
    <p>${text}${whole && fleet && html` <span class="dim">·</span> <a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a>`}</p>
    <p class="dim">
      <${Time} at=${to} />${detail && html` · ${detail}`}${actor !== 'system' && html` · by ${actor || t('somebody')}`}
      ${vehicleCount > 0 && html` · <button type="button" class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${counted(count, 'event')}</button>`}
      ${file?.rejected > 0 && html` · <a href=${hrefOf(['fleets', fleet.id, 'uploads'])}>Refused rows</a>`}
    </p>
    ${open && html`<${EventList} filter=${{ historyId: id }} size=${20} vehicles />`}
  </li>`;
}

/** What happened in a fleet, the latest first. */
export function Runs({ fleetId }) {
  const { parts, query } = route.value;
  const { type, after } = query;
  const variables = { first: PAGE, after, fleetId, ...(type && { types: [type] }) };
  const foot = (info) => html`<${Earlier} info=${info} parts=${parts} query=${query} />`;
  return html`<${Listing} label="Activity">
    <${Search} fields=${searched} parts=${parts} query=${query} />
    <${History} variables=${variables} empty=${nothing} foot=${foot} />
  <//>`;
}

/** What happened in the company. */
export const Activity = () =>
  html`<${Page} title="Activity" about="Everything that happened to your fleets, as it happens."><${Runs} /><//>`;
