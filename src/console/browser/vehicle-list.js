import { html } from './html.js';
import { List } from './list.js';
import { Empty } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';
import { vehicleColumns } from './vehicle-columns.js';
import { saveVehicles, vehicleVerbs } from './vehicle-verbs.js';
import { statusNames } from './words.js';

const vehiclesQuery = `query Vehicles($id: ID!, $filter: VehicleFilter, $orderBy: VehicleOrder, $first: Int, $after: String, $last: Int, $before: String) {
  fleet(id: $id) {
    vehicles(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
      nodes {
        id vin fleet { id name } manufacturer { name }
        eligibility { status verifiedAt nextAttemptAt reason { message actor } }
      }
    }
  }
}`;
const makersQuery = '{ manufacturers { id name } }';

const orders = [
  ['', 'Oldest first'],
  ['-CREATED_AT', 'Newest first'],
  ['VIN', 'By VIN'],
  ['-VIN', 'By VIN, last first'],
  ['-VERIFIED_AT', 'Last checked first'],
  ['VERIFIED_AT', 'Longest ago checked first'],
];
const { vin, manufacturer, status, why, checked } = vehicleColumns;

/** The filter that a query of an address stands for. */
export const filterOf = (query) => ({
  ...(query.status && { eligibility: query.status }),
  ...(query.vin?.length >= 3 && { vin: query.vin }),
  ...(query.maker && { manufacturer: query.maker }),
});

/** The fields that vehicles are looked for by, with some between; the address has their values. */
export function useVehicleFields(between = []) {
  const { data } = useQuery(makersQuery, {}, () => false);
  return [
    { name: 'vin', label: 'VIN, its start or end', read: (text) => text.trim(), maxlength: 24 },
    { name: 'status', label: 'Status', options: [['', 'Any status'], ...Object.entries(statusNames)] },
    {
      name: 'maker',
      label: 'Manufacturer',
      options: [['', 'Any manufacturer'], ...(data?.manufacturers ?? []).map(({ id, name }) => [id, name])],
    },
    ...between,
    { name: 'order', label: 'Order', options: orders },
  ];
}

/** The vehicles of a fleet. */
export function VehicleList({ fleetId }) {
  const filters = useVehicleFields();
  const empty = (query) => html`<${Nothing} query=${query} all=${hrefOf(['fleets', fleetId])} />`;
  return html`<${List} label="Vehicles" what="vehicle" document=${vehiclesQuery} variables=${{ id: fleetId }}
    connectionOf=${({ fleet }) => fleet?.vehicles} wakes=${(event) => event.fleetId === fleetId} filters=${filters} filterOf=${filterOf}
    columns=${[vin, manufacturer, status, why, checked]} nameOf=${(one) => one.vin} verbs=${vehicleVerbs} empty=${empty}
    save=${(query) => saveVehicles({ ...query, fleetId })} />`;
}

/** In place of vehicles where there are none, or none that fit. */
export const Nothing = ({ query: { status: wanted, vin: typed, maker, fleet }, all }) =>
  wanted || typed || maker || fleet
    ? html`<${Empty} title="No vehicle fits"><p>None is like that. <a href=${all}>Show all vehicles</a></p><//>`
    : html`<${Empty} title="No vehicles yet">
        <p>Add VINs to a fleet, or drop a CSV, Excel or JSON file on its page. Manufacturers are asked at once.</p>
      <//>`;
