import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { subscribableEventTypes } from '../../src/core/webhooks/webhook.ts';
import { stubPage } from '../support/sentences.ts';

const folder = new URL('../../src/console/browser/', import.meta.url);
const openapi = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));

/** The place of each operation in the console: a file, and a text in it. */
const places: Record<string, readonly [file: string, asks: string]> = {
  listFleets: ['fleets.js', 'fleets(filter:'],
  createFleet: ['fleet-verbs.js', 'createFleet(input:'],
  getFleet: ['fleets.js', 'fleet(id:'],
  updateFleet: ['fleet-verbs.js', 'updateFleet(input:'],
  deleteFleet: ['fleet-verbs.js', 'deleteFleet(input:'],
  getEligibility: ['vehicles.js', 'eligibility {'],
  refreshEligibility: ['vehicle-verbs.js', 'verifyEligibility(input:'],
  importVehicles: ['uploads.js', 'importVehicles(input:'],
  getImport: ['imports.js', 'imports(last:'],
  followImport: ['uploads.js', 'importProgress(importId:'],
  getRejectedRows: ['refused.js', '/rejected.csv`'],
  listVehicles: ['vehicles.js', 'vehicles(filter:'],
  listAllVehicles: ['vehicles.js', 'vehicles(filter:'],
  addVehicles: ['vins.js', 'addVehicles(input:'],
  deleteVehicles: ['vehicle-verbs.js', 'deleteVehicles(input:'],
  moveVehicles: ['vehicle-verbs.js', 'moveVehicles(input:'],
  getVehicle: ['vehicles.js', 'vehicle(by:'],
  deleteVehicle: ['vehicles.js', 'removeVehicles([vehicle]'],
  createContract: ['contract-verbs.js', 'createContract(input:'],
  createContracts: ['contract-verbs.js', 'createContracts(input:'],
  refreshActivation: ['contract-verbs.js', 'refreshActivation(input:'],
  listPacks: ['contract-verbs.js', 'packs {'],
  listContracts: ['contracts.js', 'contracts(filter:'],
  getContract: ['contracts.js', 'contract(id:'],
  updateContract: ['contract-verbs.js', 'updateContract(input:'],
  endContracts: ['contract-ends.js', 'endContracts(input:'],
  endContract: ['contracts.js', 'endNow([contract]'],
  deleteContracts: ['contract-ends.js', 'deleteContracts(input:'],
  deleteContract: ['contracts.js', 'removeContracts([contract]'],
  listManufacturers: ['manufacturers.js', 'manufacturers {'],
  listProviders: ['manufacturers.js', 'providers {'],
  search: ['finder.js', 'search(text:'],
  getCompany: ['overview.js', 'company {'],
  getActivity: ['overview.js', 'activity(from:'],
  listHistory: ['activity.js', 'history(first:'],
  listEvents: ['activity.js', 'events(last:'],
  getEvent: ['activity.js', 'events(last:'],
  streamEvents: ['live.js', 'events(after:'],
  createWebhook: ['webhook-verbs.js', 'createWebhook(input:'],
  listWebhooks: ['webhooks.js', 'webhooks(first:'],
  getWebhook: ['webhooks.js', 'webhook(id:'],
  updateWebhook: ['webhook-verbs.js', 'updateWebhook(input:'],
  deleteWebhook: ['webhook-verbs.js', 'deleteWebhook(input:'],
  rotateWebhookSecret: ['webhook-verbs.js', 'rotateWebhookSecret(input:'],
  testWebhook: ['webhook-verbs.js', 'testWebhook(input:'],
  listDeliveries: ['webhooks.js', 'deliveries(last:'],
  redeliver: ['webhooks.js', 'redeliverWebhookDelivery(input:'],
};

/** Operations that the console lacks, with reasons. */
const absent: Record<string, string> = {
  deleteContractsByPost: 'the same as deleteContracts, for proxies that drop the body of a DELETE',
  deleteVehiclesByPost: 'the same as deleteVehicles, for proxies that drop the body of a DELETE',
  getLiveness: 'for orchestrators',
  getReadiness: 'for load balancers',
  getMetrics: 'for Prometheus',
  getOpenApi: 'for programmers; /docs shows it',
};

test('the console has every operation of the API, or `absent` has a reason', () => {
  const operations = Object.values<Record<string, { operationId?: string }>>(openapi.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId }) => operationId ?? []);
  expect(operations.length).toBeGreaterThan(40);
  expect([...Object.keys(places), ...Object.keys(absent)].sort()).toEqual(operations.sort());
  for (const [operation, [file, asks]] of Object.entries(places)) {
    expect(readFileSync(new URL(file, folder), 'utf8'), operation).toContain(asks);
  }
});

test('webhooks can select every type of event', async () => {
  stubPage();
  const { eventTypes } = await import(new URL('words.js', folder).href);
  const sent = Object.keys(eventTypes).map((type) => type.toLowerCase().replace('_', '.'));
  expect(sent.sort()).toEqual([...subscribableEventTypes].sort());
});
