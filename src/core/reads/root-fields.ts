import { contractResource } from '../contracts/contracts.ts';
import { EVENT_PUBLISHED_SQL, eventResource, listContainsSql, unindexedEventOrder } from '../events/events.ts';
import { fleetExistsSql } from '../fleets/fleet.ts';
import { eligibilitySummaryJson, FLEET_TALLY_SQL, fleetResource } from '../fleets/fleets.ts';
import { importResource, rejectionResource } from '../imports/imports.ts';
import type { ListField, ParentColumn, Resource, ResourceFields, SingleRowField } from '../sql/resource.ts';
import { jsonSql } from '../sql/selection.ts';
import { eligibilityResource, tallyConditions, vehicleResource } from '../vehicles/vehicles.ts';
import { deliveryResource } from '../webhooks/deliveries.ts';
import { webhookResource } from '../webhooks/webhooks.ts';
import { historyResource } from './history.ts';

// The graph of resources: the fields that lead from one to another, and the root fields.

const one = (of: () => Resource, on?: string): SingleRowField => ({ kind: 'one', of, ...(on && { on }) });
const list = (of: () => Resource, options: Partial<ListField> = {}): ListField => ({ kind: 'list', of, ...options });
/** A list of events, read by a partial index of events that have this column. */
const timeline = (under: ParentColumn, options: Partial<ListField> = {}) =>
  list(() => event, { under, on: `${EVENT_PUBLISHED_SQL} and ${under[0]} is not null`, ...options });
const withFields = (of: Resource, fields: ResourceFields): Resource => ({ ...of, fields: { ...of.fields, ...fields } });
const event: Resource = withFields(eventResource, {
  fleet: one(() => fleet, 'f.id = e.fleet_id'),
  contract: one(() => contract, 'c.id = e.contract_id'),
});
const vehicleEvents: Resource = { ...event, order: unindexedEventOrder };

const fleet: Resource = withFields(fleetResource, {
  vehicles: list(() => vehicle, {
    under: ['v.fleet_id', 'f.id'],
    storedCount: { sum: 't.delta', from: FLEET_TALLY_SQL, conditions: tallyConditions, all: 'counts.total' },
    indexed: ['eligibility', 'eligibilityAlone', 'manufacturer', 'vin'],
    within: true,
  }),
  eligibilitySummary: { kind: 'object', members: eligibilitySummaryJson('counts') },
  contracts: list(() => contract, { under: ['c.fleet_id', 'f.id'], within: true }),
  imports: list(() => importOf, { under: ['n.fleet_id', 'f.id'], short: true, within: true }),
  timeline: timeline(['e.fleet_id', 'f.id']),
});

const ofVehicle = `${EVENT_PUBLISHED_SQL} and ${listContainsSql('e.vehicle_ids', 'v.id')}`;
const vehicle: Resource = withFields(vehicleResource, {
  fleet: one(() => fleet, 'f.id = v.fleet_id'),
  contracts: list(() => contract, { under: ['c.vehicle_id', 'v.id'], short: true }),
  timeline: list(() => vehicleEvents, { on: ofVehicle, short: true }),
});

const contract: Resource = withFields(contractResource, {
  fleet: one(() => fleet, 'f.id = c.fleet_id'),
  vehicle: one(() => vehicle, 'v.id = c.vehicle_id'),
  timeline: timeline(['e.contract_id', 'c.id'], { short: true }),
});

const importOf: Resource = {
  ...withFields(importResource, {
    fleet: one(() => fleet, 'f.id = n.fleet_id'),
    rejected: list(() => rejectionResource, { under: ['r.import_id', 'n.id'] }),
  }),
  members: { ...importResource.members, rejectedCount: jsonSql.number('n.rejected') },
};

const webhook: Resource = withFields(webhookResource, {
  deliveries: list(() => deliveryResource, { under: ['d.webhook_id', 'w.id'] }),
});

const history: Resource = withFields(historyResource, {
  fleet: one(() => fleet, 'f.id = h.fleet_id'),
  import: one(() => importOf, 'n.id = h.import_id'),
  events: timeline(['e.history_id', 'h.id']),
});

/** Types that can be read by id alone, in the order of lookup. Imports come last, since callers choose their ids. */
export const nodeResources: Readonly<Record<string, Resource>> = {
  Fleet: fleet,
  Vehicle: vehicle,
  Contract: contract,
  Event: event,
  HistoryItem: history,
  Webhook: webhook,
  Delivery: deliveryResource,
  Import: importOf,
};

/** A node by its id, from the row `NODE_ALIAS`. */
export const NODE_ALIAS = 'node';
export const nodeField = (of: Resource): SingleRowField => ({
  ...one(() => of, `${of.id} = ${NODE_ALIAS}.id`),
  by: () => ({}),
});

export const rootQueryFields: ResourceFields = {
  fleets: list(() => fleet),
  fleet: one(() => fleet),
  vehicles: list(() => vehicle, {
    storedCount: {
      sum: 't.delta',
      from: `vehicle_tally t where t.company = $company and ${fleetExistsSql('t')}`,
      conditions: tallyConditions,
    },
    indexed: ['fleetIdsAlone', 'vin'],
  }),
  vehicle: { kind: 'one', of: () => vehicle, by: ({ by }: { by: object }) => by },
  eligibility: one(() => eligibilityResource),
  manufacturers: { kind: 'manufacturer' },
  contracts: list(() => contract),
  contract: one(() => contract),
  import: one(() => importOf),
  events: list(() => event, { on: EVENT_PUBLISHED_SQL }),
  event: one(() => event),
  history: list(() => history),
  webhooks: list(() => webhook, { short: true }),
  webhook: one(() => webhook),
};
