import { afterAll, describe, expect, test } from 'vitest';
import { openTrial } from './documents/trial.ts';
import { startGateway } from './support/gateway.ts';
import { cursorOf } from './support/reference.ts';

// Faults that test/slow/documents.test.ts found, in their smallest form; each is sent four times, in four ways.
const gateway = await startGateway();
const { rows, faultOf, close } = await openTrial(gateway);
afterAll(close);

const fleet = rows.fleet.at(-1);
const [, vehicle] = rows.vehicle;
const ofLast = rows.vehicle.find(({ fleetId }) => fleetId === fleet.id);
const [, event, , later] = rows.event;
const again = (...sends: Record<string, unknown>[]) =>
  Array.from({ length: 4 }, (_, at) => ({ variables: sends[at % sends.length] ?? {} }));

const documents: Record<string, [query: string, ...sends: Record<string, unknown>[]]> = {
  'a fragment that stands twice, left out once': [
    `query Q($w: Boolean!) { a: fleet(id: "${fleet.id}") { id ...Card @include(if: $w) } b: fleet(id: "${fleet.id}") { id ...Card } }
     fragment Card on Fleet { name eligibilitySummary { eligible } }`,
    { w: false },
    { w: true },
  ],
  'a fragment that stands twice in one set': [
    '{ manufacturers { ...F @include(if: false) ...F } } fragment F on Manufacturer { provider }',
  ],
  'a field that stands twice in one set': [
    '{ fleets(first: 1) { totalCount nodes @include(if: false) { ... on Fleet { vat } } nodes { name } } }',
  ],
  'a field that is there only sometimes, and needs other members': [
    `query Q($x: Boolean!) { fleet(id: "${fleet.id}") { vehicles { nodes { vin } } vehicles @include(if: $x) { nodes { manufacturer { id } createdAt } } } }`,
    { x: false },
    { x: true },
  ],
  'a fragment below two aliases, with more members beside one of them': [
    `{ a: fleet(id: "${fleet.id}") { ...V } b: fleet(id: "${fleet.id}") { ...V vehicles { nodes { manufacturer { id } createdAt fleet { id } } } } }
     fragment V on Fleet { vehicles { nodes { vin } totalCount } }`,
  ],
  'null for a variable with a default': [
    'query Q($v: Boolean = true) { manufacturers { name @include(if: $v) } }',
    { v: null },
    {},
    { v: false },
  ],
  'null for a variable with a default, at the root': [
    'query Q($v: Boolean = true) { manufacturers @skip(if: $v) { name } __typename }',
    { v: null },
    {},
    { v: false },
  ],
  'null for a directive of a fragment that stands there already': [
    `query Q($v: Boolean = true) { eligibility(vin: "${vehicle.vin}") { ...F ...F @include(if: $v) } } fragment F on Eligibility { vin }`,
    { v: null },
    {},
  ],
  'null for an id with a default': [
    `query Q($id: ID = "${fleet.id}") { fleet(id: $id) { name } }`,
    { id: null },
    {},
    { id: fleet.id },
  ],
  'null in place of the only member': [
    'query Q($id: ID!) { vehicle(by: { id: $id }) { vin } }',
    { id: null },
    {},
    { id: vehicle.id },
  ],
  'null for a member of one of several': [
    'query Q($by: VehicleBy!) { vehicle(by: $by) { vin } }',
    { by: { id: null } },
    { by: { id: null, vin: vehicle.vin } },
    { by: { vin: vehicle.vin } },
  ],
  // graphql-js drops promises of earlier items on an error: a rejection among them would end the process.
  'an invalid directive in a later item, beside invalid arguments in each': [
    `query Q($v: Boolean = true) { fleets(orderBy: { direction: ASC }) { nodes {
       vehicles(filter: { vin: "${ofLast.vin}" }) { nodes { id @skip(if: $v) } } contracts(first: 1, last: 1) { totalCount } } } }`,
    { v: null },
    { v: false },
  ],
  'some of the numbers of an hour': [
    '{ history { nodes { statuses { eligible } } edges { node { s: statuses { e: failed pending } } } } }',
  ],
  'names that mean something to JavaScript': [
    `{ then: fleets(first: 2) { nodes { then: name constructor: vat __proto__: email toString: id } __proto__: totalCount }
       __proto__: manufacturers { then: wmis __proto__: id } constructor: __typename }`,
  ],
  'variables called so': [
    `query Q($__proto__: Int = 1, $constructor: Boolean = true, $then: ID, $toString: String) {
       fleets(first: $__proto__, filter: { name: $toString }) { nodes { id @include(if: $constructor) name } }
       contracts(filter: { fleetId: $then }) { totalCount } }`,
    {},
    JSON.parse('{"__proto__": 2, "constructor": false, "then": "x", "toString": "Fleet"}'),
    JSON.parse('{"__proto__": null, "constructor": true, "then": null, "toString": null}'),
    JSON.parse('{"__proto__": "x"}'),
  ],
  'variables called so that are taken as they are given': [
    `query Q($__proto__: Boolean!, $constructor: ID!, $toString: Int) { fleets(first: $toString) @skip(if: $__proto__) { totalCount }
       fleet(id: $constructor) { id name @include(if: $__proto__) } }`,
    JSON.parse(`{"__proto__": false, "constructor": "${fleet.id}", "toString": 1}`),
    JSON.parse(`{"__proto__": true, "constructor": "${fleet.id}"}`),
    JSON.parse('{"__proto__": true}'),
  ],
  'what stands beyond a page, forward and backward': [
    `query Q($after: String, $before: String, $first: Int, $last: Int) {
       events(after: $after, before: $before, first: $first, last: $last) { ...E }
       fleet(id: "${fleet.id}") { timeline(after: $after, before: $before, first: $first, last: $last) { ...E } }
     } fragment E on EventConnection { nodes { id } pageInfo { hasNextPage hasPreviousPage } }`,
    { before: later.id, first: 1000 },
    { before: later.id, last: 2 },
    { after: event.id, first: 1 },
    { after: event.id, before: later.id, last: 1000 },
  ],
  'what stands before the first and after the last, in one statement and in several': [
    `query Q($after: String, $before: String, $more: Boolean = false) { fleet(id: "${fleet.id}") {
       vehicles(after: $after, before: $before, first: 2) { totalCount @include(if: $more) ...P }
       a: vehicles(before: $before, last: 2) { ...P } } }
     fragment P on VehicleConnection { edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`,
    { after: '', before: null },
    { after: cursorOf('00000000-0000-4000-8000-000000000000') },
    { after: cursorOf(vehicle.id), before: cursorOf(vehicle.id), more: true },
    { before: cursorOf('ffffffff-ffff-4fff-bfff-ffffffffffff'), more: true },
  ],
  'nothing in pages of one statement': [
    `query Q($after: String, $before: String) { fleets(first: 1, after: $after, before: $before) {
       nodes { id } pageInfo { hasNextPage hasPreviousPage } } }`,
    { after: cursorOf(rows.fleet.at(-1).id) },
    { before: cursorOf(rows.fleet[0].id) },
    { after: cursorOf(rows.fleet[1].id), before: cursorOf(rows.fleet[2].id) },
    { before: cursorOf(rows.fleet[2].id) },
  ],
  'types of events, also where graphql-js makes the answer': [
    `query Q($types: [EventType!], $first: Int) { events(first: $first, filter: { types: $types }) { nodes { type } }
       history(types: $types) { nodes { type } }
       webhooks { nodes { types deliveries(first: 5) { nodes { type } } } } }`,
    { types: ['FLEET_CREATED', 'IMPORT_COMPLETED'] },
    { first: 5 },
    { types: ['OTHER'] },
    { types: ['OTHER', 'FLEET_UPDATED'] },
    { types: [], first: 0 },
  ],
  'data of events by its type, also where graphql-js makes the answer': [
    `query Q($first: Int) { events(first: $first) { nodes { data { ...D __typename } } }
       fleet(id: "${fleet.id}") { timeline { nodes { data { ... on EventData { ...D } ... on FleetCreatedData { name } ... on FleetDeletedData { name } } } } } }
     fragment D on EventData {
       ... on FleetUpdatedData { changes { to field } }
       ... on EligibilityChangedData { fromStatus toStatus manufacturer reason { code message } }
       ... on VehicleMovedData { toFleetId } ... on VehicleRemovedData { n: vehicleCount }
       ... on ImportCompletedData { importId rejected } ... on VehicleAddedData { fromImportId }
       ... on ContractData { from type: __typename } ... on OtherData { json } }`,
    { first: 1000 },
    { first: 0 },
  ],
  'several operations': ['query A { manufacturers { id } } query B($x: Int) { fleets(first: $x) { totalCount } }'],
};

describe('every transport answers as a plain execution does', () => {
  test.each(Object.entries(documents))('%s', async (_name, [query, ...sends]) => {
    expect(await faultOf({ query, sends: again(...sends) })).toBeNull();
  });
});
