import { EventList } from './activity.js';
import { pageData } from './api.js';
import { said } from './codes.js';
import { contractColumns, vehicleColumns } from './columns.js';
import { newContract } from './contract-verbs.js';
import { useFleetOptions } from './fleet-verbs.js';
import { html, t } from './html.js';
import { List } from './list.js';
import { Badge, Day, Empty, Fact, Failure, Page, Time, Turn, Waiting } from './parts.js';
import { useActivations, useQuery } from './query.js';
import { filledIn, go, hrefOf } from './router.js';
import { Table } from './table.js';
import { moveToFleet, removeVehicles, saveVehicles, vehicleVerbs, verifyAgain } from './vehicle-verbs.js';
import { aVin, byCreation, FEWEST, known, statusNames, vinPart } from './words.js';

export const vehiclesQuery = `query Vehicles($filter: VehicleFilter, $orderBy: VehicleOrder, $first: Int, $after: String, $last: Int, $before: String) {
  vehicles(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    ${pageData} nodes { id vin fleet { id name } manufacturer { name } eligibility { status verifiedAt reason { code message actor } } }
  }
}`;
const makersQuery = '{ manufacturers { id name } }';

const orders = {
  ...{ ...byCreation, VIN: t('VIN, A to Z'), '-VIN': t('VIN, Z to A') },
  ...{ '-VERIFIED_AT': t('Recently checked first'), VERIFIED_AT: t('Least recently checked first') },
};
const { vin, fleet, manufacturer, status, why, checked } = vehicleColumns;

/** The filter that an address's query describes, for one fleet or for all. */
const filterOf = (fleetId) => (query) => {
  const [{ status: eligibility, vin, maker: manufacturer }, fleet] = [query, fleetId ?? query.fleet];
  return filledIn({
    eligibility: known(statusNames, eligibility),
    vin: vinPart(vin),
    manufacturer,
    fleetIds: fleet && [fleet],
  });
};

function useVehicleFields(fleetId) {
  const { data } = useQuery(makersQuery, {}, () => false);
  const fleets = useFleetOptions();
  const makers = (data?.manufacturers ?? []).map(({ id, name }) => [id, name]);
  return [
    { name: 'vin', label: t('VIN, or its start or end'), minlength: FEWEST, maxlength: 24 },
    { name: 'status', label: t('Status'), options: [['', t('Any status')], ...Object.entries(statusNames)] },
    { name: 'maker', label: t('Manufacturer'), options: [['', t('Any manufacturer')], ...makers] },
    ...(fleetId ? [] : [{ name: 'fleet', label: t('Fleet'), options: [['', t('Any fleet')], ...fleets] }]),
    { name: 'order', label: t('Sort by'), options: Object.entries(orders) },
  ];
}

export function VehicleList({ fleetId }) {
  const filters = useVehicleFields(fleetId);
  const all = hrefOf(fleetId ? ['fleets', fleetId] : ['vehicles']);
  return html`<${List} label="Vehicles" what="vehicle" filters=${filters}
    asks=${{ document: vehiclesQuery, filterOf: filterOf(fleetId), wakes: (event) => !fleetId || event.fleetId === fleetId }}
    columns=${[vin, ...(fleetId ? [] : [fleet]), manufacturer, status, why, checked]} nameOf=${(one) => one.vin}
    verbs=${vehicleVerbs} empty=${(query) => html`<${Nothing} query=${query} all=${all} />`}
    save=${(query) => saveVehicles({ ...query, fleetId: fleetId ?? query.fleet })} />`;
}

/** The vehicles of all fleets, for users who know a VIN and not its fleet. */
export const Vehicles = () =>
  html`<${Page} title="Vehicles" about="All vehicles in all your fleets."><${VehicleList} /><//>`;

const Nothing = ({ query: { status: wanted, vin: typed, maker, fleet }, all }) =>
  wanted || typed || maker || fleet
    ? html`<${Empty} title="No matching vehicles"><p>Nothing matches these filters. <a href=${all}>Show all vehicles</a></p><//>`
    : html`<${Empty} title="No vehicles yet">
        <p>Add VINs to a fleet, or drop a CSV, Excel or JSON file on its page. Eligibility is checked right away.</p>
      <//>`;

const vehicleQuery = `query Vehicle($by: VehicleBy!) {
  vehicle(by: $by) {
    id vin warnings createdAt fleet { id name } manufacturer { name }
    eligibility {
      status dataDelivery connectivityStatus primaryUserAssigned attempts verifiedAt nextAttemptAt
      reason { code message actor }
    }
  }
}`;
const contractsQuery = `query ContractsOfVehicle($by: VehicleBy!) {
  vehicle(by: $by) { contracts(last: 50) { nodes { id name pack status from to vehicle { id vin } activation { state reason { code message actor } } } } }
}`;

const words = {
  PULL: t('Fetched by the gateway'),
  PUSH: t('Sent by the manufacturer'),
  ACTIVATED: t('Connected'),
  DEACTIVATED: t('Not connected'),
  UNKNOWN: t('Unknown'),
};

const { name, pack, from, to, status: state, told } = contractColumns;
const columns = [name, pack, { ...from, sort: undefined }, { ...to, sort: undefined }, state, told];

const traceQuery = `query Trace($id: ID!) {
  events(last: 1, filter: { vehicleId: $id, types: [VEHICLE_ADDED, VEHICLE_MOVED, VEHICLE_REMOVED] }) { nodes { vehicles { vehicleId vin } } }
}`;

/** A vehicle by its id or VIN; of one that is deleted, its VIN and its events are left. */
export function Vehicle({ id }) {
  const by = aVin.test(id) ? { vin: id } : { id };
  const asked = useQuery(vehicleQuery, { by }, ({ type }) => /^(VEHICLE|ELIGIBILITY)/.test(type));
  const vehicle = asked.data?.vehicle;
  const isGone = asked.error?.code === 'VEHICLE_NOT_FOUND';
  const trace = useQuery(traceQuery, isGone && !by.vin && { id }, () => false);
  const kept = trace.data?.events.nodes[0]?.vehicles.find(({ vehicleId }) => vehicleId === id)?.vin;
  const { fleet, vin = by.vin ?? kept, manufacturer } = vehicle ?? {};
  const events = html`<h2>Activity</h2><${EventList} filter=${vin ? { vin } : { vehicleId: id }} />`;
  const back = { href: fleet ? hrefOf(['fleets', fleet.id]) : '#/fleets', name: fleet?.name ?? t('Fleets') };
  const about = vehicle && (manufacturer?.name ?? t('Unknown manufacturer'));
  return html`<${Page} label="Vehicle" asked=${asked} title=${vin} back=${back} about=${about} gone=${events}
    actions=${vehicle && html`<${Verbs} vehicle=${vehicle} />`}>
    ${vehicle ? html`<${Verdict} vehicle=${vehicle} />` : html`<${Waiting} rows=${1} kind="card" />`}
    <h2>Contracts</h2>
    <${Contracts} by=${by} />
    ${events}
  <//>`;
}

function Verbs({ vehicle }) {
  const leave = () => go(hrefOf(['fleets', vehicle.fleet.id]));
  return html`<button type="button" onClick=${() => verifyAgain([vehicle])}>Check again</button>
    <button type="button" onClick=${() => moveToFleet([vehicle])}>Move …</button>
    <button type="button" onClick=${() => removeVehicles([vehicle], leave)}>Delete …</button>
    <button type="button" class="primary" onClick=${() => newContract(vehicle)}>New contract</button>`;
}

function Verdict({ vehicle: { eligibility, warnings, createdAt } }) {
  const { status, dataDelivery, connectivityStatus, primaryUserAssigned, reason, attempts, verifiedAt, nextAttemptAt } =
    eligibility;
  return html`<section class="verdict" aria-label="Eligibility">
    <p class="said"><${Badge} status=${status} /> ${reason && html`<span>${said(reason)}</span> <${Turn} actor=${reason.actor} />`}</p>
    ${warnings.includes('VIN_CHECK_DIGIT') && html`<p class="warning">The check digit of this VIN is wrong. Look for a typing error.</p>`}
    <dl class="facts">
      ${dataDelivery.length > 0 && html`<${Fact} label="Data delivery">${dataDelivery.map((one) => words[one]).join(' · ')}<//>`}
      ${connectivityStatus && html`<${Fact} label="Connectivity">${words[connectivityStatus]}<//>`}
      ${primaryUserAssigned !== null && html`<${Fact} label="Primary user">${primaryUserAssigned ? t('Registered') : t('None')}<//>`}
      <${Fact} label="Last checked">${verifiedAt ? html`<${Time} at=${verifiedAt} />` : t('Not yet')}<//>
      ${nextAttemptAt && html`<${Fact} label="Next check"><${Time} at=${nextAttemptAt} /><//>`}
      <${Fact} label="Checks">${attempts}<//>
      <${Fact} label="Added"><${Day} at=${createdAt} /><//>
    </dl>
  </section>`;
}

function Contracts({ by }) {
  useActivations();
  const { data, error, reload } = useQuery(contractsQuery, { by }, ({ type }) => type.startsWith('CONTRACT_'));
  const contracts = data?.vehicle.contracts.nodes;
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!contracts) return html`<${Waiting} rows=${1} />`;
  if (contracts.length === 0) return html`<p class="dim">No contracts.</p>`;
  return html`<${Table} label="Contracts" columns=${columns} rows=${contracts.toReversed()} />`;
}
