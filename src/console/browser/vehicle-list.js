import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { Badge, Empty, Failure, Pager, Waiting, Why } from './parts.js';
import { useQuery } from './query.js';
import { go, hrefOf, pageOf, route } from './router.js';
import { Time } from './time.js';
import { statusNames } from './words.js';

const PAGE = 25;
/** So that not every letter is a question. */
const TYPED_MS = 250;

const vehiclesQuery = `query Vehicles($id: ID!, $filter: VehicleFilter, $orderBy: VehicleOrder, $first: Int, $after: String, $last: Int, $before: String) {
  fleet(id: $id) {
    vehicles(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
      nodes { id vin manufacturer { name } eligibility { status verifiedAt nextAttemptAt reason { message actor } } }
    }
  }
}`;
const orders = {
  newest: { name: 'Newest first', field: 'CREATED_AT', direction: 'DESC' },
  vin: { name: 'By VIN', field: 'VIN', direction: 'ASC' },
  checked: { name: 'Last checked first', field: 'VERIFIED_AT', direction: 'DESC' },
};
const makersQuery = '{ manufacturers { id name } }';

/** The vehicles of a fleet, with what they are looked for by in the address. */
export function VehicleList({ fleetId }) {
  const { query } = route.value;
  const { status, vin, maker, order } = query;
  const { field, direction } = orders[order] ?? {};
  const filter = {
    ...(status && { eligibility: status }),
    ...(vin && { vinStartsWith: vin }),
    ...(maker && { manufacturer: maker }),
  };
  const variables = { id: fleetId, filter, orderBy: field && { field, direction }, ...pageOf(query, PAGE) };
  const { data, error, loading, reload } = useQuery(vehiclesQuery, variables, (event) => event.fleetId === fleetId);
  const here = ['fleets', fleetId];
  const vehicles = data?.fleet?.vehicles;
  return html`<section aria-label="Vehicles">
    <${Search} here=${here} query=${query} />
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!vehicles && !error && html`<${Waiting} rows=${8} />`}
    ${vehicles?.totalCount === 0 && html`<${Nothing} filtered=${status || vin || maker} all=${hrefOf(here)} />`}
    ${
      vehicles?.totalCount > 0 &&
      html`<${VehicleTable} vehicles=${vehicles.nodes} dim=${loading} />
        <${Pager} info=${vehicles.pageInfo} total=${vehicles.totalCount} what="vehicle" parts=${here} query=${query} />`
    }
  </section>`;
}

const Nothing = ({ filtered, all }) =>
  filtered
    ? html`<${Empty} title="No vehicle fits"><p>None is like that. <a href=${all}>Show all vehicles</a></p><//>`
    : html`<${Empty} title="No vehicles yet">
        <p>Add VINs, or drop a CSV, Excel or JSON file anywhere on this page. Manufacturers are asked at once.</p>
      <//>`;

function Search({ here, query }) {
  const { data } = useQuery(makersQuery, {}, () => false);
  const typed = useRef();
  const field = useRef();
  const look = (changed) => go(hrefOf(here, { ...query, after: '', before: '', ...changed }), { replace: true });
  // The address may change by a link, too.
  useEffect(() => {
    if (document.activeElement !== field.current) field.current.value = query.vin ?? '';
  }, [query.vin]);
  const type = ({ currentTarget }) => {
    clearTimeout(typed.current);
    const vin = currentTarget.value.trim().toUpperCase().slice(0, 17);
    typed.current = setTimeout(() => look({ vin }), TYPED_MS);
  };
  return html`<form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input ref=${field} type="search" class="vin" placeholder="VIN starts with …" aria-label="VIN starts with" maxlength="24"
      spellcheck="false" autocapitalize="characters" autocomplete="off" onInput=${type} />
    <select aria-label="Status" value=${query.status ?? ''} onChange=${({ currentTarget }) => look({ status: currentTarget.value })}>
      <option value="">Any status</option>
      ${Object.entries(statusNames).map(([status, name]) => html`<option key=${status} value=${status}>${name}</option>`)}
    </select>
    <select aria-label="Manufacturer" value=${query.maker ?? ''} onChange=${({ currentTarget }) => look({ maker: currentTarget.value })}>
      <option value="">Any manufacturer</option>
      ${data?.manufacturers.map(({ id, name }) => html`<option key=${id} value=${id} selected=${id === query.maker}>${name}</option>`)}
    </select>
    <select aria-label="Order" value=${query.order ?? ''} onChange=${({ currentTarget }) => look({ order: currentTarget.value })}>
      <option value="">Oldest first</option>
      ${Object.entries(orders).map(([order, { name }]) => html`<option key=${order} value=${order}>${name}</option>`)}
    </select>
  </form>`;
}

/** Rows that become cards where there is no room for columns. */
export const VehicleTable = ({
  vehicles,
  dim,
  withFleet = false,
}) => html`<table class=${`rows ${dim ? 'dim' : ''} ${withFleet ? 'wide' : ''}`} role="table">
  <thead role="rowgroup">
    <tr role="row">
      <th role="columnheader">VIN</th>
      ${withFleet && html`<th role="columnheader">Fleet</th>`}
      <th role="columnheader">Manufacturer</th>
      <th role="columnheader">Status</th>
      <th role="columnheader">Why</th>
      <th role="columnheader">Checked</th>
    </tr>
  </thead>
  <tbody role="rowgroup">
    ${vehicles.map((vehicle) => html`<${Row} key=${vehicle.id} ...${vehicle} withFleet=${withFleet} />`)}
  </tbody>
</table>`;

function Row({ id, vin, manufacturer, eligibility, fleet, withFleet }) {
  const { status, verifiedAt, reason } = eligibility;
  return html`<tr role="row">
    <td role="cell" class="vin"><a href=${hrefOf(['vehicles', id])}>${vin}</a></td>
    ${withFleet && html`<td role="cell" class="fleet"><a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a></td>`}
    <td role="cell">${manufacturer?.name ?? html`<span class="dim">Unknown</span>`}</td>
    <td role="cell"><${Badge} status=${status} /></td>
    <td role="cell" class="reason"><${Why} reason=${reason} /></td>
    <td role="cell" class="when">${verifiedAt && html`<${Time} at=${verifiedAt} />`}</td>
  </tr>`;
}
