import { html, t } from './html.js';
import { Badge, Day, link, Time, Why } from './parts.js';
import { activationStates, contractStates } from './words.js';

const checkedAt = ({ eligibility: { verifiedAt: at } }) => at && html`<${Time} at=${at} />`;
const unknown = html`<span class="dim">Unknown</span>`;

export const vehicleColumns = {
  vin: { name: t('VIN'), kind: 'vin main', sort: 'VIN', cell: ({ id, vin }) => link(['vehicles', id], vin) },
  fleet: { name: t('Fleet'), kind: 'fleet', cell: ({ fleet }) => link(['fleets', fleet.id], fleet.name) },
  manufacturer: { name: t('Manufacturer'), kind: 'maker', cell: ({ manufacturer }) => manufacturer?.name ?? unknown },
  status: {
    name: t('Status'),
    kind: 'tag',
    cell: ({ eligibility: { status } }) => html`<${Badge} status=${status} />`,
  },
  why: { name: t('Reason'), kind: 'note', cell: ({ eligibility }) => html`<${Why} reason=${eligibility.reason} />` },
  checked: { name: t('Last checked'), kind: 'when', sort: 'VERIFIED_AT', cell: checkedAt },
};

export const ContractBadge = ({ status }) =>
  html`<span class=${`badge ${status.toLowerCase()}`}>${contractStates[status]}</span>`;

export const AtManufacturer = ({ activation: { state, reason } }) =>
  html`<span class=${`badge ${state.toLowerCase()}`}>${activationStates[state]}</span> <${Why} reason=${reason} />`;

/** The last day of a period: its end is exclusive. */
export const lastOf = ({ to }) => new Date(Date.parse(to) - 1);
const LastDay = (one) => html`<${Day} at=${lastOf(one).toISOString()} />`;
export const Period = ({ from, to }) => html`<${Day} at=${from} /> – <${LastDay} to=${to} />`;

export const contractColumns = {
  name: { name: t('Name'), kind: 'main', cell: ({ id, name }) => link(['contracts', id], name) },
  vehicle: { name: t('Vehicle'), kind: 'vin', cell: ({ vehicle }) => link(['vehicles', vehicle.id], vehicle.vin) },
  fleet: vehicleColumns.fleet,
  pack: { name: t('Pack'), kind: 'note', cell: ({ pack }) => pack },
  from: { name: t('Start date'), kind: 'day', sort: 'FROM', cell: ({ from }) => html`<${Day} at=${from} />` },
  to: { name: t('End date'), kind: 'day', sort: 'TO', cell: LastDay },
  status: { name: t('Status'), kind: 'tag', cell: ({ status }) => html`<${ContractBadge} status=${status} />` },
  told: { name: t('Activation'), kind: 'note told', cell: AtManufacturer },
};
