import { html } from './html.js';
import { Page, Sides } from './page.js';
import { Empty, Failure, Pager, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, pageOf, route } from './router.js';
import { VehicleTable } from './vehicle-list.js';
import { turns } from './words.js';

const PAGE = 25;

const attentionQuery = `query Attention($filter: VehiclesFilter!, $first: Int, $after: String, $last: Int, $before: String) {
  vehicles(filter: $filter, orderBy: { field: VERIFIED_AT, direction: DESC }, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes {
      id vin fleet { id name } manufacturer { name }
      eligibility { status verifiedAt reason { message actor } }
    }
  }
}`;

const actors = [['', 'All'], ...Object.entries(turns)];

/** The vehicles of all fleets whose data cannot be had, by whose turn it is. */
export function Attention() {
  const { query } = route.value;
  const filter = { eligibility: ['FAILED', 'INELIGIBLE', 'UNSUPPORTED'], ...(query.actor && { actor: query.actor }) };
  const { data, error, loading, reload } = useQuery(attentionQuery, { filter, ...pageOf(query, PAGE) });
  const sides = actors.map(([actor, name]) => ({
    name,
    href: hrefOf(['attention'], { actor }),
    here: actor === (query.actor ?? ''),
  }));
  const vehicles = data?.vehicles;
  return html`<${Page} title="Needs attention" about="Vehicles of all fleets that share no data: why, and whose turn it is.">
    <${Sides} label="Whose turn" sides=${sides} />
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!vehicles && !error && html`<${Waiting} rows=${8} />`}
    ${vehicles?.totalCount === 0 && html`<${Empty} title="All is well"><p>No vehicle waits for anybody here.</p><//>`}
    ${
      vehicles?.totalCount > 0 &&
      html`<div>
        <${VehicleTable} vehicles=${vehicles.nodes} dim=${loading} withFleet />
        <${Pager} info=${vehicles.pageInfo} total=${vehicles.totalCount} what="vehicle" parts=${['attention']} query=${query} />
      </div>`
    }
  <//>`;
}
