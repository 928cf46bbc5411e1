import { vehicleColumns } from './columns.js';
import { useFleetOptions } from './fleet-choice.js';
import { html, t } from './html.js';
import { List } from './list.js';
import { Page } from './page.js';
import { Empty } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';
import { saveVehicles, vehicleVerbs } from './vehicle-verbs.js';
import { byCreation, statusNames } from './words.js';

export const vehiclesQuery = `query Vehicles($filter: VehicleFilter, $orderBy: VehicleOrder, $first: Int, $after: String, $last: Int, $before: String) {
  vehicles(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes {
      id vin fleet { id name } manufacturer { name }
      eligibility { status verifiedAt reason { code message actor } }
    }
  }
}`;
const makersQuery = '{ manufacturers { id name } }';

const orders = {
  ...{ ...byCreation, VIN: t('By VIN'), '-VIN': t('By VIN, last first') },
  ...{ '-VERIFIED_AT': t('Last checked first'), VERIFIED_AT: t('Longest ago checked first') },
};
const { vin, fleet, manufacturer, status, why, checked } = vehicleColumns;

/** Of all vehicles, or of those of one fleet, those that a query of an address stands for. */
const filterOf = (fleetId) => (query) => ({
  ...(query.status && { eligibility: query.status }),
  ...(query.vin?.length >= 3 && { vin: query.vin }),
  ...(query.maker && { manufacturer: query.maker }),
  ...((fleetId ?? query.fleet) && { fleetIds: [fleetId ?? query.fleet] }),
});

/** The fields that vehicles are looked for by; the address has their values. */
function useVehicleFields(fleetId) {
  const { data } = useQuery(makersQuery, {}, () => false);
  const fleets = useFleetOptions();
  const makers = (data?.manufacturers ?? []).map(({ id, name }) => [id, name]);
  return [
    { name: 'vin', label: t('VIN, its start or end'), read: (text) => text.trim(), maxlength: 24 },
    { name: 'status', label: t('Status'), options: [['', t('Any status')], ...Object.entries(statusNames)] },
    { name: 'maker', label: t('Manufacturer'), options: [['', t('Any manufacturer')], ...makers] },
    ...(fleetId ? [] : [{ name: 'fleet', label: t('Fleet'), options: [['', t('Any fleet')], ...fleets] }]),
    { name: 'order', label: t('Order'), options: Object.entries(orders) },
  ];
}

/** The vehicles of a fleet, or of all. */
export function VehicleList({ fleetId }) {
  const filters = useVehicleFields(fleetId);
  const all = hrefOf(fleetId ? ['fleets', fleetId] : ['vehicles']);
  return html`<${List} label="Vehicles" what="vehicle" document=${vehiclesQuery}
    wakes=${(event) => !fleetId || event.fleetId === fleetId} filters=${filters} filterOf=${filterOf(fleetId)}
    columns=${[vin, ...(fleetId ? [] : [fleet]), manufacturer, status, why, checked]} nameOf=${(one) => one.vin}
    verbs=${vehicleVerbs} empty=${(query) => html`<${Nothing} query=${query} all=${all} />`}
    save=${(query) => saveVehicles({ ...query, fleetId: fleetId ?? query.fleet })} />`;
}

/** The vehicles of all fleets, for those who know a VIN and not its fleet. */
export const Vehicles = () =>
  html`<${Page} title="Vehicles" about="The vehicles of all your fleets."><${VehicleList} /><//>`;

/** In place of vehicles where there are none, or none that fit. */
const Nothing = ({ query: { status: wanted, vin: typed, maker, fleet }, all }) =>
  wanted || typed || maker || fleet
    ? html`<${Empty} title="No vehicle fits"><p>None is like that. <a href=${all}>Show all vehicles</a></p><//>`
    : html`<${Empty} title="No vehicles yet">
        <p>Add VINs to a fleet, or drop a CSV, Excel or JSON file on its page. Manufacturers are asked at once.</p>
      <//>`;
