import { html } from './html.js';
import { link } from './parts.js';
import { Day } from './time.js';
import { vehicleColumns } from './vehicle-columns.js';

/** Names of the states of contracts. */
export const contractStates = { ACTIVE: 'In force', SCHEDULED: 'Scheduled', ENDED: 'Ended' };

export const ContractBadge = ({ status }) =>
  html`<span class=${`badge ${status.toLowerCase()}`}>${contractStates[status]}</span>`;

export const Period = ({ from, to }) => html`<${Day} at=${from} /> – <${Day} at=${to} />`;

/** Columns of tables of contracts, by what they show. */
export const contractColumns = {
  name: { name: 'Name', kind: 'main', cell: ({ id, name }) => link(['contracts', id], name) },
  vehicle: { name: 'Vehicle', kind: 'vin', cell: ({ vehicle }) => link(['vehicles', vehicle.id], vehicle.vin) },
  fleet: vehicleColumns.fleet,
  pack: { name: 'Pack', kind: 'note', cell: ({ pack }) => pack },
  from: { name: 'From', kind: 'day', sort: 'FROM', cell: ({ from }) => html`<${Day} at=${from} />` },
  to: { name: 'To', kind: 'day', sort: 'TO', cell: ({ to }) => html`<${Day} at=${to} />` },
  status: { name: 'Status', kind: 'tag', cell: ({ status }) => html`<${ContractBadge} status=${status} />` },
};
