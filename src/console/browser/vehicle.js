import { contractColumns } from './columns.js';
import { newContract } from './contract-verbs.js';
import { EventList } from './events.js';
import { html, t } from './html.js';
import { Page } from './page.js';
import { Badge, Fact, Failure, Turn, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { go, hrefOf } from './router.js';
import { Table } from './table.js';
import { Day, Time } from './time.js';
import { moveToFleet, removeVehicles, verifyAgain } from './vehicle-verbs.js';

const vehicleQuery = `query Vehicle($id: ID!) {
  vehicle(by: { id: $id }) {
    id vin warnings createdAt
    fleet { id name }
    manufacturer { name }
    eligibility {
      status dataDelivery connectivityStatus primaryUserAssigned attempts verifiedAt nextAttemptAt
      reason { message actor }
    }
  }
}`;
const contractsQuery = `query ContractsOfVehicle($id: ID!) {
  vehicle(by: { id: $id }) { contracts(last: 50) { nodes { id name pack status from to vehicle { id vin } } } }
}`;

const words = {
  PULL: t('is fetched'),
  PUSH: t('is sent as it comes up'),
  ACTIVATED: t('Connected'),
  DEACTIVATED: t('Not connected'),
  UNKNOWN: t('Unknown'),
};

const { name, pack, from, to, status } = contractColumns;
const columns = [name, pack, { ...from, sort: undefined }, { ...to, sort: undefined }, status];

/** One vehicle: what its manufacturer says, its contracts, and what happened to it. */
export function Vehicle({ id }) {
  const { data, error, reload } = useQuery(vehicleQuery, { id }, ({ type }) => /^(VEHICLE|ELIGIBILITY)/.test(type));
  const vehicle = data?.vehicle;
  const { fleet, vin, manufacturer } = vehicle ?? {};
  const back = { href: fleet ? hrefOf(['fleets', fleet.id]) : '#/fleets', name: fleet?.name ?? t('Fleets') };
  if (error && !vehicle) return html`<${Page} title="Vehicle" back=${back} error=${error} retry=${reload} />`;
  return html`<${Page} title=${vin} back=${back} about=${vehicle ? (manufacturer?.name ?? t('Unknown manufacturer')) : html`<span class="blank word" />`}
    actions=${vehicle && html`<${Verbs} vehicle=${vehicle} />`}>
    ${vehicle ? html`<${Verdict} vehicle=${vehicle} />` : html`<${Waiting} rows=${1} kind="card" />`}
    <h2>Contracts</h2>
    <${Contracts} id=${id} />
    <h2>Activity</h2>
    <${EventList} filter=${{ vehicleId: id }} />
  <//>`;
}

function Verbs({ vehicle }) {
  const leave = () => go(hrefOf(['fleets', vehicle.fleet.id]));
  return html`<button type="button" onClick=${() => verifyAgain([vehicle])}>Ask again</button>
    <button type="button" onClick=${() => moveToFleet([vehicle])}>Move …</button>
    <button type="button" onClick=${() => removeVehicles([vehicle], leave)}>Delete …</button>
    <button type="button" class="primary" onClick=${() => newContract(vehicle)}>New contract</button>`;
}

function Verdict({ vehicle: { eligibility, warnings, createdAt } }) {
  const { status, dataDelivery, connectivityStatus, primaryUserAssigned, reason, attempts, verifiedAt, nextAttemptAt } =
    eligibility;
  return html`<section class="verdict" aria-label="Eligibility">
    <p class="said"><${Badge} status=${status} /> ${reason && html`<span>${reason.message}</span> <${Turn} actor=${reason.actor} />`}</p>
    ${
      warnings.includes('VIN_CHECK_DIGIT') &&
      html`<p class="warning">The check digit of this VIN is wrong: it may be a typing error.</p>`
    }
    <dl class="facts">
      ${dataDelivery.length > 0 && html`<${Fact} label="Data">${dataDelivery.map((one) => words[one]).join(', ')}<//>`}
      ${connectivityStatus && html`<${Fact} label="Connectivity">${words[connectivityStatus]}<//>`}
      ${primaryUserAssigned !== null && html`<${Fact} label="Primary user">${primaryUserAssigned ? t('Registered') : t('None')}<//>`}
      <${Fact} label="Checked">${verifiedAt ? html`<${Time} at=${verifiedAt} />` : t('Not yet')}<//>
      ${nextAttemptAt && html`<${Fact} label="Asked next"><${Time} at=${nextAttemptAt} /><//>`}
      <${Fact} label="Times asked">${attempts}<//>
      <${Fact} label="Added"><${Day} at=${createdAt} /><//>
    </dl>
  </section>`;
}

function Contracts({ id }) {
  const { data, error, reload } = useQuery(contractsQuery, { id }, ({ type }) => type.startsWith('CONTRACT_'));
  const contracts = data?.vehicle.contracts.nodes;
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!contracts) return html`<${Waiting} rows=${1} />`;
  if (contracts.length === 0) return html`<p class="dim">It has no contracts.</p>`;
  return html`<${Table} label="Contracts" columns=${columns} rows=${contracts.toReversed()} />`;
}
