import { useRef } from 'preact/hooks';
import { Runs } from './activity.js';
import { pageData } from './api.js';
import { ContractList } from './contracts.js';
import { editFleet, newFleet, removeFleet } from './fleet-verbs.js';
import { counted, html, t } from './html.js';
import { Imports } from './imports.js';
import { List } from './list.js';
import { Bar, Empty, Legend, Page, Sides, Summary } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, route } from './router.js';
import { accepted, DropZone, UploadPanel } from './upload-panel.js';
import { startUpload } from './uploads.js';
import { VehicleList } from './vehicles.js';
import { addVins } from './vins.js';
import { byCreation } from './words.js';

const fleetsQuery = `query Fleets($filter: FleetFilter, $orderBy: FleetOrder, $first: Int, $after: String, $last: Int, $before: String) {
  fleets(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    ${pageData} nodes { id name companyAddress vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
  }
}`;

const { '': oldest, ...newest } = byCreation;
const byNeed = { '-ATTENTION_COUNT': t('Most needing attention first') };
const bySize = { '-VEHICLE_COUNT': t('Most vehicles first'), VEHICLE_COUNT: t('Fewest vehicles first'), ...byNeed };
const orders = { '': t('Name, A to Z'), '-NAME': t('Name, Z to A'), CREATED_AT: oldest, ...newest, ...bySize };
const fields = [
  { name: 'name', label: t('Search by name') },
  { name: 'order', label: t('Sort by'), options: Object.entries(orders) },
];

export const Fleets = () =>
  html`<${Page} title="Fleets" actions=${make} about="Your vehicles by fleet, and whether they share data.">
    <${List} label="Fleets" what="fleet" filters=${fields} empty=${nothing} show=${Cards}
      asks=${{ document: fleetsQuery, order: 'NAME', filterOf: ({ name }) => (name ? { name } : {}) }} />
  <//>`;

const make = html`<button type="button" class="primary" onClick=${newFleet}>New fleet</button>`;

const nothing = ({ name }) =>
  name
    ? html`<${Empty} title="No matching fleets"><p><a href="#/fleets">Show all fleets</a></p><//>`
    : html`<${Beginning} />`;

const Cards = ({ rows, dim }) =>
  html`<ul class=${dim ? 'cards dim' : 'cards'}>${rows.map((fleet) => html`<${Card} key=${fleet.id} fleet=${fleet} />`)}</ul>`;

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

/** First steps of a company without vehicles; `fleet` is its only fleet, if any. */
export const Beginning = ({ fleet }) =>
  fleet
    ? html`<${Empty} title="No vehicles yet">
        <p>Add VINs to a fleet, or upload a file. Eligibility is checked right away.</p>
        <a class="button primary" href=${hrefOf(['fleets', fleet.id])}>Add vehicles to “${fleet.name}”</a>
      <//>`
    : html`<${Empty} title="Start with a fleet">
        <p>A fleet is a group of vehicles. Create one, then add vehicles by VIN or upload a file.</p>
        <button type="button" class="primary" onClick=${newFleet}>Create your first fleet</button>
      <//>`;

const fleetQuery = `query Fleet($id: ID!) {
  fleet(id: $id) {
    id name companyAddress email vat vehicleCount
    eligibilitySummary { eligible ineligible pending unsupported failed }
  }
}`;

const back = { href: '#/fleets', name: t('Fleets') };
const sides = [
  ['', t('Vehicles')],
  ['uploads', t('Uploads')],
  ['activity', t('Activity')],
  ['contracts', t('Contracts')],
];

export function Fleet({ id, side = '' }) {
  const asked = useQuery(fleetQuery, { id }, ({ fleetId }) => fleetId === id);
  const chooser = useRef(/** @type {any} */ (null));
  const fleet = asked.data?.fleet;
  const take = (files) => {
    for (const file of files) startUpload(id, file);
  };
  const actions = html`<button type="button" disabled=${!fleet} onClick=${() => editFleet(fleet)}>Edit</button>
    <button type="button" onClick=${() => removeFleet(id)}>Delete …</button>
    <button type="button" onClick=${() => addVins(id)}>Add VINs</button>
    <button type="button" class="primary" onClick=${() => chooser.current.click()}>Upload a file</button>
    <input ref=${chooser} type="file" accept=${accepted} hidden multiple
      onChange=${({ currentTarget }) => {
        take([...currentTarget.files]);
        currentTarget.value = '';
      }} />`;
  const { status, ...rest } = route.value.query;
  const pick = (one) => hrefOf(['fleets', id], { ...rest, after: '', before: '', status: one === status ? '' : one });
  const about = fleet && [fleet.companyAddress, fleet.email, fleet.vat].join(' · ');
  return html`<${Page} label="Fleet" gone=${html`<${Runs} fleetId=${id} />`} asked=${asked} title=${fleet?.name} back=${back} actions=${actions} about=${about}>
    <${DropZone} name=${fleet?.name} take=${take} />
    <${Summary} summary=${fleet?.eligibilitySummary} status=${status} hrefFor=${pick} />
    <${UploadPanel} fleetId=${id} />
    <${Sides} label="Fleet" sides=${sides} present=${side} hrefFor=${(path) => hrefOf(['fleets', id, path].filter(Boolean))} />
    ${side === '' && html`<${VehicleList} fleetId=${id} />`}
    ${side === 'uploads' && html`<${Imports} fleetId=${id} />`}
    ${side === 'activity' && html`<${Runs} fleetId=${id} />`}
    ${side === 'contracts' && html`<${ContractList} fleetId=${id} />`}
  <//>`;
}
