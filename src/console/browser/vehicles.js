import { useFleetOptions } from './fleet-choice.js';
import { html } from './html.js';
import { List } from './list.js';
import { Page } from './page.js';
import { vehicleColumns } from './vehicle-columns.js';
import { filterOf, Nothing, useVehicleFields } from './vehicle-list.js';
import { saveVehicles, vehicleVerbs } from './vehicle-verbs.js';

export const allVehiclesQuery = `query AllVehicles($filter: VehicleFilter, $orderBy: VehicleOrder, $first: Int, $after: String, $last: Int, $before: String) {
  vehicles(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes {
      id vin fleet { id name } manufacturer { name }
      eligibility { status verifiedAt reason { code message actor } }
    }
  }
}`;

const { vin, fleet, manufacturer, status, why, checked } = vehicleColumns;

const wanted = (query) => ({ ...filterOf(query), ...(query.fleet && { fleetIds: [query.fleet] }) });

/** The vehicles of all fleets, for those who know a VIN and not its fleet. */
export function Vehicles() {
  const filters = useVehicleFields([
    { name: 'fleet', label: 'Fleet', options: [['', 'Any fleet'], ...useFleetOptions()] },
  ]);
  return html`<${Page} title="Vehicles" about="The vehicles of all your fleets.">
    <${List} label="Vehicles" what="vehicle" document=${allVehiclesQuery} connectionOf=${({ vehicles }) => vehicles}
      filters=${filters} filterOf=${wanted} columns=${[vin, fleet, manufacturer, status, why, checked]} nameOf=${(one) => one.vin}
      verbs=${vehicleVerbs} empty=${(query) => html`<${Nothing} query=${query} all="#/vehicles" />`}
      save=${(query) => saveVehicles({ ...query, fleetId: query.fleet })} />
  <//>`;
}
