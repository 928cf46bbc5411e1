import { useState } from 'preact/hooks';
import { count, html, t } from './html.js';
import { Listing } from './list.js';
import { Failure, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';
import { sentenceOf } from './sentences.js';
import { Time } from './time.js';

/** More vehicles of an event are only counted. */
const NAMED = 10;

/** What events say, as far as sentences.js tells of it. */
export const eventData = `
  ... on FleetCreatedData { name }
  ... on FleetDeletedData { name }
  ... on EligibilityChangedData { toStatus reason { message } }
  ... on ImportCompletedData { created existing rejected }
  ... on VehicleMovedData { toFleetId }
  ... on ContractData { name pack }`;

const eventsQuery = `query Events($last: Int, $before: String, $filter: EventFilter, $vehicles: Boolean!) {
  events(last: $last, before: $before, filter: $filter) {
    pageInfo { hasPreviousPage startCursor }
    nodes {
      id type timestamp actor vehicleCount fleetId
      vehicles @include(if: $vehicles) { id vin }
      data { ${eventData} }
    }
  }
}`;

/** The events that fit a filter, the latest first; with `vehicles`, those that each is about. */
export function EventList({ filter, size = 50, vehicles = false }) {
  const [before, setBefore] = useState();
  const { data, error, reload } = useQuery(eventsQuery, { last: size, before, filter, vehicles });
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Waiting} rows=${2} />`;
  const { pageInfo, nodes } = data.events;
  return html`<${Listing} label="Events" page=${before ?? ''}>
    ${nodes.length === 0 && html`<p class="dim">Nothing happened yet.</p>`}
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
    ${
      named.length > 0 &&
      html`<p>${named.map(({ id, vin }) => html`<a key=${id} class="vin" href=${hrefOf(['vehicles', id])}>${vin}</a> `)}
        ${vehicleCount > named.length && html`<span class="dim">and ${count(vehicleCount - named.length)} more</span>`}</p>`
    }
    <p class="dim"><${Time} at=${timestamp} />${detail && html` · ${detail}`}${actor !== 'system' && html` · by ${actor || t('somebody')}`}</p>
  </li>`;
}
