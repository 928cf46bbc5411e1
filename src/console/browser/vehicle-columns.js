import { html } from './html.js';
import { Badge, link, Why } from './parts.js';
import { Time } from './time.js';

const checkedAt = ({ eligibility: { verifiedAt: at } }) => at && html`<${Time} at=${at} />`;
const unknown = html`<span class="dim">Unknown</span>`;

/** Columns of tables of vehicles, by what they show. */
export const vehicleColumns = {
  vin: { name: 'VIN', kind: 'vin main', sort: 'VIN', cell: ({ id, vin }) => link(['vehicles', id], vin) },
  fleet: { name: 'Fleet', kind: 'fleet', cell: ({ fleet }) => link(['fleets', fleet.id], fleet.name) },
  manufacturer: { name: 'Manufacturer', kind: 'maker', cell: ({ manufacturer }) => manufacturer?.name ?? unknown },
  status: { name: 'Status', kind: 'tag', cell: ({ eligibility }) => html`<${Badge} status=${eligibility.status} />` },
  why: { name: 'Why', kind: 'note', cell: ({ eligibility }) => html`<${Why} reason=${eligibility.reason} />` },
  checked: { name: 'Checked', kind: 'when', sort: 'VERIFIED_AT', cell: checkedAt },
};
