import { useRef } from 'preact/hooks';
import { Runs } from './activity.js';
import { addVins } from './add-vins.js';
import { DropZone } from './drop-zone.js';
import { editFleet, removeFleet } from './fleet-verbs.js';
import { html, t } from './html.js';
import { Imports } from './imports.js';
import { Page, Sides } from './page.js';
import { Summary } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf, route } from './router.js';
import { accepted } from './upload-form.js';
import { UploadPanel } from './upload-panel.js';
import { startUpload } from './uploads.js';
import { VehicleList } from './vehicles.js';

const fleetQuery = `query Fleet($id: ID!) {
  fleet(id: $id) {
    id name companyAddress email vat vehicleCount
    eligibilitySummary { eligible ineligible pending unsupported failed }
  }
}`;

const back = { href: '#/fleets', name: t('Fleets') };

/** One fleet: its vehicles, its uploads, and what happened to it. */
export function Fleet({ id, side = '' }) {
  const { data, error, reload } = useQuery(fleetQuery, { id }, ({ fleetId }) => fleetId === id);
  const chooser = useRef(/** @type {any} */ (null));
  const fleet = data?.fleet;
  if (error && !fleet) return html`<${Page} title="Fleet" back=${back} error=${error} retry=${reload} />`;
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
  const sides = [
    ['', t('Vehicles')],
    ['uploads', t('Uploads')],
    ['activity', t('Activity')],
  ].map(([path, name]) => ({ name, href: hrefOf(['fleets', id, path].filter(Boolean)), here: path === side }));
  sides.push({ name: t('Contracts'), href: hrefOf(['contracts'], { fleet: id }), here: false });
  return html`<${Page} title=${fleet?.name} back=${back} actions=${actions} about=${about ?? html`<span class="blank word" />`}>
    <${DropZone} name=${fleet?.name} take=${take} />
    <${Summary} summary=${fleet?.eligibilitySummary} status=${status} hrefFor=${pick} />
    <${UploadPanel} fleetId=${id} />
    <${Sides} label="Fleet" sides=${sides} />
    ${side === '' && html`<${VehicleList} fleetId=${id} />`}
    ${side === 'uploads' && html`<${Imports} fleetId=${id} />`}
    ${side === 'activity' && html`<${Runs} fleetId=${id} />`}
  <//>`;
}
