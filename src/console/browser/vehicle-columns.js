import { html } from './html.js';
import { Badge, Why } from './parts.js';
import { hrefOf } from './router.js';
import { Time } from './time.js';

/** Columns of tables of vehicles, by what they show. */
export const vehicleColumns = {
  vin: {
    name: 'VIN',
    kind: 'vin main',
    sort: 'VIN',
    cell: ({ id, vin }) => html`<a href=${hrefOf(['vehicles', id])}>${vin}</a>`,
  },
  fleet: {
    name: 'Fleet',
    kind: 'fleet',
    cell: ({ fleet }) => html`<a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a>`,
  },
  manufacturer: {
    name: 'Manufacturer',
    kind: 'maker',
    cell: ({ manufacturer }) => manufacturer?.name ?? html`<span class="dim">Unknown</span>`,
  },
  status: { name: 'Status', kind: 'tag', cell: ({ eligibility }) => html`<${Badge} status=${eligibility.status} />` },
  why: { name: 'Why', kind: 'note', cell: ({ eligibility }) => html`<${Why} reason=${eligibility.reason} />` },
  checked: {
    name: 'Checked',
    kind: 'when',
    sort: 'VERIFIED_AT',
    cell: ({ eligibility: { verifiedAt } }) => verifiedAt && html`<${Time} at=${verifiedAt} />`,
  },
};
