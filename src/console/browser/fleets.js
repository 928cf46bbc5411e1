import { newFleet } from './fleet-verbs.js';
import { html } from './html.js';
import { Page } from './page.js';
import { Bar, Empty, Failure, Legend, Pager, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, pageOf, route } from './router.js';
import { counted } from './words.js';

const PAGE = 24;

const fleetsQuery = `query Fleets($first: Int, $after: String, $last: Int, $before: String) {
  fleets(first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes {
      id name companyAddress vehicleCount
      eligibilitySummary { eligible ineligible pending unsupported failed }
    }
  }
}`;

/** All fleets, each with its bar. */
export function Fleets() {
  const { query } = route.value;
  const { data, error, loading, reload } = useQuery(fleetsQuery, pageOf(query, PAGE));
  const actions = html`<button type="button" class="primary" onClick=${newFleet}>New fleet</button>`;
  return html`<${Page} title="Fleets" actions=${actions} about="Your vehicles, and whether their manufacturers share their data.">
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Waiting} rows=${4} kind="card" />`}
    ${data && html`<${List} fleets=${data.fleets} loading=${loading} query=${query} />`}
  <//>`;
}

function List({ fleets, loading, query }) {
  if (fleets.totalCount === 0) {
    return html`<${Empty} title="No fleets yet">
      <p>A fleet is a group of vehicles. Create one, then add vehicles by their VINs or drop a file on it.</p>
      <button type="button" class="primary" onClick=${newFleet}>Create your first fleet</button>
    <//>`;
  }
  return html`<ul class=${loading ? 'cards dim' : 'cards'}>${fleets.nodes.map((fleet) => html`<${Card} key=${fleet.id} fleet=${fleet} />`)}</ul>
    <${Pager} info=${fleets.pageInfo} total=${fleets.totalCount} what="fleet" parts=${[]} query=${query} />`;
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
