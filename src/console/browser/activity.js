import { eventTypes } from './event-types.js';
import { html } from './html.js';
import { Listing } from './listing.js';
import { Page } from './page.js';
import { Earlier, Empty, Failure, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, route } from './router.js';
import { Search } from './search.js';
import { groupsOf, sentenceOf } from './sentences.js';
import { Time } from './time.js';

const PAGE = 100;

const eventsQuery = `query Activity($last: Int, $before: String, $filter: EventFilter) {
  events(last: $last, before: $before, filter: $filter) {
    pageInfo { hasPreviousPage startCursor }
    nodes {
      id type timestamp actor fleetId vehicleCount
      data {
        ... on FleetCreatedData { name }
        ... on FleetDeletedData { name }
        ... on EligibilityChangedData { toStatus manufacturer reason { message } }
        ... on ImportCompletedData { created existing rejected }
        ... on ContractData { name pack }
      }
    }
  }
}`;
const namesQuery = '{ fleets(first: 1000) { nodes { id name } } manufacturers { id name } }';
const byId = (list) => new Map(list?.map(({ id, name }) => [id, name]));

const dayOf = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });

const searched = [{ name: 'type', label: 'Type', options: [['', 'Everything'], ...Object.entries(eventTypes)] }];

/** The events of the company, a fleet, a vehicle or a contract, the latest first. */
export function Activity({ fleetId, vehicleId, contractId }) {
  const { parts, query } = route.value;
  const filter = { ...(fleetId && { fleetId }), ...(vehicleId && { vehicleId }), ...(contractId && { contractId }) };
  const whole = Object.keys(filter).length === 0;
  if (query.type) filter.types = [query.type];
  const variables = { last: PAGE, before: query.before, filter };
  const { data, error, loading, reload } = useQuery(
    eventsQuery,
    variables,
    (event) => !fleetId || event.fleetId === fleetId,
  );
  const { data: known } = useQuery(namesQuery, {}, ({ type }) => type.startsWith('FLEET_'));
  const names = { fleets: whole ? byId(known?.fleets.nodes) : new Map(), makers: byId(known?.manufacturers) };
  const events = data?.events;
  const shown = html`${!vehicleId && !contractId && html`<${Search} fields=${searched} parts=${parts} query=${query} />`}
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!events && !error && html`<${Waiting} rows=${8} />`}
    ${events?.nodes.length === 0 && html`<${Empty} title="Nothing happened yet"><p>Changes show here as they happen.</p><//>`}
    ${events?.nodes.length > 0 && html`<${Days} events=${events.nodes} names=${names} dim=${loading} />`}
    ${events && html`<${Earlier} info=${events.pageInfo} parts=${parts} query=${query} />`}`;
  const list = html`<${Listing} label="Activity">${shown}<//>`;
  if (!whole) return list;
  return html`<${Page} title="Activity" about="Everything that happened to your fleets, as it happens.">${list}<//>`;
}

function Days({ events, names, dim }) {
  const days = Map.groupBy(groupsOf(events.toReversed()), ({ timestamp }) => dayOf.format(new Date(timestamp)));
  return html`<div class=${dim ? 'days dim' : 'days'}>
    ${[...days].map(
      ([day, groups]) => html`<section key=${day}>
        <h2>${day}</h2>
        <ol class="timeline">${groups.map((group) => html`<${Group} key=${group.id} group=${group} names=${names} />`)}</ol>
      </section>`,
    )}
  </div>`;
}

function Group({ group, names }) {
  const { text, detail, tone } = sentenceOf(group, names.makers);
  const { fleetId, timestamp, actor } = group;
  const fleet = names.fleets.get(fleetId);
  return html`<li class=${tone}>
    <p>
      ${text}
      ${fleet && html` <span class="dim">in</span> <a href=${hrefOf(['fleets', fleetId])}>${fleet}</a>`}
    </p>
    <p class="dim">
      <${Time} at=${timestamp} />${detail && html` · ${detail}`}${actor !== 'system' && html` · by ${actor || 'somebody'}`}
    </p>
  </li>`;
}
