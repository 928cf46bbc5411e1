import { newFleet } from './fleet-verbs.js';
import { html } from './html.js';
import { Listing } from './listing.js';
import { Page } from './page.js';
import { Bar, Empty, Failure, Legend, Pager, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, orderOf, pageOf, route } from './router.js';
import { Search } from './search.js';
import { counted } from './words.js';

const PAGE = 24;

const fleetsQuery = `query Fleets($filter: FleetFilter, $orderBy: FleetOrder, $first: Int, $after: String, $last: Int, $before: String) {
  fleets(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes {
      id name companyAddress vehicleCount
      eligibilitySummary { eligible ineligible pending unsupported failed }
    }
  }
}`;

const fields = [
  { name: 'name', label: 'A part of the name' },
  {
    name: 'order',
    label: 'Order',
    options: [
      ['', 'Oldest first'],
      ['-CREATED_AT', 'Newest first'],
      ['NAME', 'By name'],
      ['-NAME', 'By name, last first'],
    ],
  },
];

/** All fleets, each with its bar. */
export function Fleets() {
  const { query } = route.value;
  const { data, error, loading, reload } = useQuery(fleetsQuery, {
    ...(query.name && { filter: { name: query.name } }),
    orderBy: orderOf(query.order),
    ...pageOf(query, PAGE),
  });
  const actions = html`<button type="button" class="primary" onClick=${newFleet}>New fleet</button>`;
  return html`<${Page} title="Fleets" actions=${actions} about="Your vehicles, and whether their manufacturers share their data.">
    ${(query.name || data?.fleets.totalCount > 0) && html`<${Search} fields=${fields} parts=${['fleets']} query=${query} />`}
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Waiting} rows=${4} kind="card" />`}
    ${data && html`<${Listing} label="Fleets"><${List} fleets=${data.fleets} loading=${loading} query=${query} /><//>`}
  <//>`;
}

function List({ fleets, loading, query }) {
  if (fleets.totalCount === 0 && query.name) {
    return html`<${Empty} title="No fleet is called so"><p><a href="#/fleets">Show all fleets</a></p><//>`;
  }
  if (fleets.totalCount === 0) {
    return html`<${Empty} title="No fleets yet">
      <p>A fleet is a group of vehicles. Create one, then add vehicles by their VINs or drop a file on it.</p>
      <button type="button" class="primary" onClick=${newFleet}>Create your first fleet</button>
    <//>`;
  }
  return html`<ul class=${loading ? 'cards dim' : 'cards'}>${fleets.nodes.map((fleet) => html`<${Card} key=${fleet.id} fleet=${fleet} />`)}</ul>
    <${Pager} info=${fleets.pageInfo} total=${fleets.totalCount} what="fleet" parts=${['fleets']} query=${query} />`;
}

function Card({ fleet }) {
  const { id, name, companyAddress, vehicleCount, eligibilitySummary } = fleet;
  return html`<li class="card">
    <div class="row apart">
      <h2><a href=${hrefOf(['fleets', id])}>${name}</a></h2>
      <span class="number">${counted(vehicleCount, 'vehicle')}</span>
    </div>
    <p class="dim">${companyAddress}</p>
    <${Bar} summary=${eligibilitySummary} />
    ${vehicleCount > 0 ? html`<${Legend} summary=${eligibilitySummary} />` : html`<p class="legend dim">No vehicles yet</p>`}
  </li>`;
}
