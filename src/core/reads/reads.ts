import { contractRows } from '../contracts/contracts.ts';
import { eventRows, listing, PUBLISHED, unindexedOrder } from '../events/events.ts';
import { fleetIsThere } from '../fleets/fleet.ts';
import { byStatus, fleetRows, TALLY } from '../fleets/fleets.ts';
import { importRows, rejectionRows } from '../imports/imports.ts';
import type { Field, Fields, ListField, OneField, Resource, Under } from '../sql/resource.ts';
import { json } from '../sql/selection.ts';
import { countedBy, eligibilityRows, vehicleRows } from '../vehicles/vehicles.ts';
import { deliveryRows } from '../webhooks/deliveries.ts';
import { webhookRows } from '../webhooks/webhooks.ts';
import { historyRows } from './history.ts';

// The graph of resources: the fields that lead from one to another, and the root fields.

const one = (of: () => Resource, on?: string): OneField => ({ kind: 'one', of, ...(on && { on }) });
const list = (of: () => Resource, options: Partial<ListField> = {}): ListField => ({ kind: 'list', of, ...options });
/** A list of events, read by a partial index of events that have this column. */
const timeline = (under: Under, options: Partial<ListField> = {}) =>
  list(() => eventRows, { under, on: `${PUBLISHED} and ${under[0]} is not null`, ...options });
const fewEvents: Resource = { ...eventRows, order: unindexedOrder };

const withFields = (rows: Resource, fields: Fields): Resource => ({ ...rows, fields: { ...rows.fields, ...fields } });

const fleet: Resource = withFields(fleetRows, {
  vehicles: list(() => vehicle, {
    under: ['v.fleet_id', 'f.id'],
    kept: { sum: 't.delta', from: TALLY, conditions: countedBy, all: 'counts.total' },
    indexed: ['eligibility', 'eligibilityAlone', 'manufacturer', 'vin'],
    within: true,
  }),
  eligibilitySummary: { kind: 'object', members: byStatus('counts') },
  contracts: list(() => contract, { under: ['c.fleet_id', 'f.id'], within: true }),
  imports: list(() => importOf, { under: ['n.fleet_id', 'f.id'], few: true, within: true }),
  timeline: timeline(['e.fleet_id', 'f.id']),
});

const vehicleFields: Fields = {
  fleet: one(() => fleet, 'f.id = v.fleet_id'),
  contracts: list(() => contract, { under: ['c.vehicle_id', 'v.id'], few: true }),
  timeline: list(() => fewEvents, { on: `${PUBLISHED} and ${listing('e.vehicle_ids', 'v.id')}`, few: true }),
};
const vehicle: Resource = withFields(vehicleRows, vehicleFields);

const contract: Resource = withFields(contractRows, {
  fleet: one(() => fleet, 'f.id = c.fleet_id'),
  vehicle: one(() => vehicle, 'v.id = c.vehicle_id'),
  timeline: timeline(['e.contract_id', 'c.id'], { few: true }),
});

const importOf: Resource = {
  ...withFields(importRows, {
    fleet: one(() => fleet, 'f.id = n.fleet_id'),
    rejected: list(() => rejectionRows, { under: ['r.import_id', 'n.id'] }),
  }),
  members: { ...importRows.members, rejectedCount: json.number('n.rejected') },
};

const webhook: Resource = withFields(webhookRows, {
  deliveries: list(() => deliveryRows, { under: ['d.webhook_id', 'w.id'] }),
});

const history: Resource = withFields(historyRows, {
  fleet: one(() => fleet, 'f.id = h.fleet_id'),
  import: one(() => importOf, 'n.id = h.import_id'),
  events: timeline(['e.history_id', 'h.id']),
});

/** Types that can be read by id alone, in the order of lookup. Imports come last, since callers choose their ids. */
export const nodes: Readonly<Record<string, Resource>> = {
  Fleet: fleet,
  Vehicle: vehicle,
  Contract: contract,
  Event: eventRows,
  HistoryItem: history,
  Webhook: webhook,
  Delivery: deliveryRows,
  Import: importOf,
};

/** A node by its id, from the row `NODE`. */
export const NODE = 'node';
export const nodeOf = (of: Resource): OneField => ({ ...one(() => of, `${of.id} = ${NODE}.id`), by: () => ({}) });

export const queries: Readonly<Record<string, Field>> = {
  fleets: list(() => fleet, { few: true }),
  fleet: one(() => fleet),
  vehicles: list(() => vehicle, {
    kept: {
      sum: 't.delta',
      from: `vehicle_tally t where t.company = $company and ${fleetIsThere('t')}`,
      conditions: countedBy,
    },
    indexed: ['fleetIdsAlone', 'vin'],
  }),
  vehicle: { kind: 'one', of: () => vehicle, by: ({ by }: { by: object }) => by },
  eligibility: one(() => eligibilityRows),
  manufacturers: { kind: 'manufacturer' },
  contracts: list(() => contract),
  contract: one(() => contract),
  import: one(() => importOf),
  events: list(() => eventRows, { on: PUBLISHED }),
  event: one(() => eventRows),
  history: list(() => history),
  webhooks: list(() => webhook, { few: true }),
  webhook: one(() => webhook),
};
