import { useState } from 'preact/hooks';
import { count, counted, html, locale, t } from './html.js';
import { FleetLink } from './links.js';
import { Earlier, Empty, Failure, Page, Time, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, route } from './router.js';
import { Listing, Search } from './search.js';
import { sentenceOf } from './sentences.js';
import { eventTypes, known } from './words.js';

/** An event names at most this many vehicles; the others are only counted. */
const NAMED = 10;

/** The data of events that sentences.js needs. */
export const eventData = `
  ... on FleetCreatedData { name }
  ... on FleetDeletedData { name }
  ... on EligibilityChangedData { toStatus reason { code message } }
  ... on ImportCompletedData { fileName created existing rejected }
  ... on VehicleMovedData { fromFleetId toFleetId }
  ... on ContractData { name pack reason { code message } }`;

const eventsQuery = `query Events($last: Int, $before: String, $filter: EventFilter, $vehicles: Boolean!) {
  events(last: $last, before: $before, filter: $filter) {
    pageInfo { hasPreviousPage startCursor }
    nodes { id type timestamp actor vehicleCount fleetId vehicles @include(if: $vehicles) { vin } data { ${eventData} } }
  }
}`;

/** The events that fit a filter, latest first; with `vehicles`, each event lists its vehicles. */
export function EventList({ filter, size = 50, vehicles = false }) {
  const [before, setBefore] = useState();
  const { data, error, reload } = useQuery(eventsQuery, { last: size, before, filter, vehicles });
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Waiting} rows=${2} />`;
  const { pageInfo, nodes } = data.events;
  return html`<${Listing} label="Events" page=${before ?? ''}>
    ${nodes.length === 0 && html`<p class="dim">No activity yet.</p>`}
    <ol class="timeline">${nodes.toReversed().map((event) => html`<${Event} key=${event.id} event=${event} />`)}</ol>
    ${before && html`<button type="button" onClick=${() => setBefore(undefined)}>Back to the latest</button>`}
    ${pageInfo.hasPreviousPage && html`<button type="button" onClick=${() => setBefore(pageInfo.startCursor)}>Earlier</button>`}
  <//>`;
}

function Event({ event }) {
  const { text, detail, tone } = sentenceOf(event);
  const { timestamp, actor, vehicles = [], vehicleCount } = event;
  const named = vehicles.slice(0, NAMED);
  return html`<li class=${tone}>
    <p>${text}</p>
    ${named.length > 0 && html`<p>${named.map(({ vin }) => html`<a key=${vin} class="vin" href=${hrefOf(['vehicles', vin])}>${vin}</a> `)}${vehicleCount > named.length && html`<span class="dim">and ${count(vehicleCount - named.length)} more</span>`}</p>`}
    <p class="dim"><${Time} at=${timestamp} />${detail && html` · ${detail}`}${actor !== 'system' && html` · by ${actor || t('someone')}`}</p>
  </li>`;
}

const historyQuery = `query History($first: Int, $after: String, $fleetId: ID, $types: [EventType!]) {
  history(first: $first, after: $after, fleetId: $fleetId, types: $types) {
    pageInfo { hasNextPage endCursor }
    nodes {
      id type from to actor manufacturer { name } count vehicleCount fleetId fleet { id name } import { id rejected: rejectedCount }
      statuses { eligible ineligible pending unsupported failed }
      events(last: 1) { nodes { type data { ${eventData} } } }
    }
  }
}`;

const PAGE = 50;
const searched = [{ name: 'type', label: t('Type'), options: [['', t('All types')], ...Object.entries(eventTypes)] }];
const nothing = html`<${Empty} title="No activity yet"><p>Changes appear here as they happen.</p><//>`;
const dayOf = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });
const dayNameOf = (/** @type {any} */ { from }) => {
  const name = dayOf.format(new Date(from));
  return name === dayOf.format(new Date()) ? t('Today') : name;
};

/** A page of grouped history since `from`, latest first; `variables` select the page, `foot` is shown below it. */
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
  const { id, type, to, actor, count, vehicleCount, fleetId, fleet, import: file } = item;
  const [last] = item.events.nodes;
  const { text, detail, tone } = sentenceOf({ ...item, data: last?.type === type ? last.data : {} });
  return html`<li class=${tone}>
    <p>${text}${whole && fleetId && type !== 'FLEET_DELETED' && html` <span class="dim">·</span> ${fleet ? html`<a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a>` : html`<${FleetLink} id=${fleetId} />`}`}</p>
    <p class="dim">
      <${Time} at=${to} />${detail && html` · ${detail}`}${actor !== 'system' && html` · by ${actor || t('someone')}`}
      ${vehicleCount > 0 && html` · <button type="button" class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${counted(count, 'event')}</button>`}
      ${file?.rejected > 0 && html` · <a href=${hrefOf(['fleets', fleet.id, 'uploads'])}>Rejected rows</a>`}
    </p>
    ${open && html`<${EventList} filter=${{ historyId: id }} size=${20} vehicles />`}
  </li>`;
}

export function Runs({ fleetId }) {
  const { parts, query } = route.value;
  const { type, after } = query;
  const variables = { first: PAGE, after, fleetId, ...(known(eventTypes, type) && { types: [type] }) };
  const foot = (info) => html`<${Earlier} info=${info} parts=${parts} query=${query} />`;
  return html`<${Listing} label="Activity">
    <${Search} fields=${searched} parts=${parts} query=${query} />
    <${History} variables=${variables} empty=${nothing} foot=${foot} />
  <//>`;
}

export const Activity = () =>
  html`<${Page} title="Activity" about="Everything that happens to your fleets, live."><${Runs} /><//>`;
