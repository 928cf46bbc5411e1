import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isObjectType,
  isScalarType,
} from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { publishEvents } from '../src/core/events/publish-events.ts';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { contractFields, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { newWorld, type World, worldVins } from './support/worlds.ts';

// What follows selects everything, which costs more than anybody may ask for at once.
const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000' } });
const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

/** The names of one company's things. */
type Names = Omit<World, 'client' | 'company'>;

interface Asked {
  document: string;
  variables: Json;
  file?: Blob;
}

const read = (text: string, variables: Json = {}): Asked => ({ document: text, variables });
const byId = (field: string, selection: string, id: string) =>
  read(`query ($id: ID!) { ${field}(id: $id) { ${selection} } }`, { id });
const change = (field: string, selection: string, input: Json): Asked => {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
  return read(`mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`, { input });
};

/** How each field of the roots is asked for with these names. A new field needs a row here. */
const fields: Record<string, (names: Names) => Asked> = {
  'Query.fleets': () => read('{ fleets { totalCount nodes { id } } }'),
  'Query.fleet': ({ fleetId }) => byId('fleet', 'id company vehicles { nodes { vin } }', fleetId),
  'Query.vehicle': ({ vehicleId, vin }) =>
    read(
      'query ($id: ID!, $vin: String!) { byId: vehicle(by: { id: $id }) { id vin } byVin: vehicle(by: { vin: $vin }) { id } }',
      { id: vehicleId, vin },
    ),
  'Query.eligibility': ({ vin }) => read('query ($vin: String!) { eligibility(vin: $vin) { vin status } }', { vin }),
  'Query.contracts': ({ fleetId, vin }) =>
    read(
      `query ($fleetId: ID, $vin: String) {
        ofFleet: contracts(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
        ofVin: contracts(filter: { vin: $vin }) { totalCount nodes { id } } }`,
      { fleetId, vin },
    ),
  'Query.contract': ({ contractId }) => byId('contract', 'id vehicle { vin } fleet { name }', contractId),
  'Query.manufacturers': () => read('{ manufacturers { id } }'),
  'Query.import': ({ importId }) => byId('import', 'id state fleet { id }', importId),
  'Query.events': ({ fleetId, contractId, vehicleId, vin }) =>
    read(
      `query ($fleetId: ID, $contractId: ID, $vehicleId: ID, $vin: String) {
        a: events(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
        b: events(filter: { contractId: $contractId }) { totalCount nodes { id } }
        c: events(filter: { vehicleId: $vehicleId }) { totalCount nodes { id } }
        d: events(filter: { vin: $vin }) { totalCount nodes { id } } }`,
      { fleetId, contractId, vehicleId, vin },
    ),
  'Query.event': ({ eventId }) => byId('event', 'id type data', eventId),
  'Query.webhooks': () => read('{ webhooks { totalCount nodes { id url } } }'),
  'Query.webhook': ({ webhookId }) => byId('webhook', 'id url deliveries { nodes { id } }', webhookId),
  'Mutation.createFleet': () =>
    change('createFleet', 'fleet { id }', { name: '', companyAddress: '', email: '', vat: '' }),
  'Mutation.updateFleet': ({ fleetId }) => change('updateFleet', 'fleet { id }', { id: fleetId, name: 'Taken over' }),
  'Mutation.deleteFleet': ({ fleetId }) => change('deleteFleet', 'fleet { id }', { id: fleetId }),
  'Mutation.addVehicles': ({ fleetId }) => change('addVehicles', 'summary { created }', { fleetId, vins: [newVin()] }),
  'Mutation.importVehicles': ({ fleetId, importId }) => ({
    ...change('importVehicles', 'summary { created }', { fleetId, importId, file: null }),
    file: new Blob([`${newVin()}\n`], { type: 'text/csv' }),
  }),
  'Mutation.deleteVehicle': ({ vehicleId }) => change('deleteVehicle', 'vehicle { id }', { id: vehicleId }),
  'Mutation.deleteVehicles': ({ fleetId, vehicleId, vin }) =>
    change('deleteVehicles', 'deleted { id }', { fleetId, ids: [vehicleId], vins: [vin] }),
  'Mutation.verifyEligibility': ({ vin }) => change('verifyEligibility', 'eligibilities { vin }', { vins: [vin] }),
  'Mutation.createContract': ({ fleetId, vin }) =>
    change('createContract', 'contract { id }', contractFields({ fleetId, vin }, { pack: 'other' })),
  'Mutation.deleteContract': ({ contractId }) => change('deleteContract', 'contract { id }', { id: contractId }),
  'Mutation.createWebhook': () => change('createWebhook', 'secret', { url: '' }),
  'Mutation.updateWebhook': ({ webhookId }) =>
    change('updateWebhook', 'webhook { id }', { id: webhookId, state: 'PAUSED' }),
  'Mutation.deleteWebhook': ({ webhookId }) => change('deleteWebhook', 'webhook { id }', { id: webhookId }),
  'Mutation.rotateWebhookSecret': ({ webhookId }) => change('rotateWebhookSecret', 'secret', { id: webhookId }),
  'Mutation.testWebhook': ({ webhookId }) => change('testWebhook', 'delivery { id }', { id: webhookId }),
  'Mutation.redeliver': ({ webhookId, deliveryId }) =>
    change('redeliver', 'delivery { id }', { webhookId, deliveryId }),
  'Subscription.eligibilityChanged': ({ fleetId }) =>
    read('subscription ($fleetId: ID) { eligibilityChanged(fleetId: $fleetId) { vin } }', { fleetId }),
  'Subscription.events': ({ fleetId }) =>
    read('subscription ($fleetId: ID) { events(filter: { fleetId: $fleetId }) { id } }', { fleetId }),
  'Subscription.importProgress': ({ importId }) =>
    read('subscription ($id: ID!) { importProgress(importId: $id) { id } }', { id: importId }),
};

const nobodys: Names = {
  fleetId: '01980000-0000-7000-8000-0000000000f1',
  vehicleId: '01980000-0000-7000-8000-0000000000f2',
  vin: newVin(),
  otherId: '01980000-0000-7000-8000-0000000000f3',
  otherVin: newVin(),
  elsewhereVin: newVin(),
  contractId: '01980000-0000-7000-8000-0000000000f4',
  importId: '01980000-0000-7000-8000-0000000000f5',
  eventId: '01980000-0000-7000-8000-0000000000f6',
  webhookId: '01980000-0000-7000-8000-0000000000f7',
  deliveryId: '01980000-0000-7000-8000-0000000000f8',
};
const malformed: Names = {
  ...nobodys,
  fleetId: 'no-fleet',
  vehicleId: 'no-vehicle',
  vin: 'no-vin',
  contractId: 'no-contract',
  importId: 'no-import',
  eventId: 'no-event',
  webhookId: 'no-webhook',
  deliveryId: 'no-delivery',
};
/** Of these it is an answer, or silence, that shows who may know what; ids that cannot exist are refused by their form. */
const judgesTheForm = ['Mutation.importVehicles', 'Subscription.importProgress'];

let acme: World;
let before: Json;
/** Somebody who has nothing, and somebody with a world of the same VINs. */
const stranger = await gateway.as('stranger');
const vins = worldVins();
let globex: World;

beforeAll(async () => {
  acme = await newWorld(gateway, 'acme', vins);
  globex = await newWorld(gateway, 'globex', vins);
  const ctx = contextOf(gateway.services, 'test', null);
  while (await publishEvents(ctx));
  before = await everythingOf(acme.client);
});

/** An answer, or the first thing a subscription tells; null when it tells nothing for a while. */
async function ask(client: Client, { document: query, variables, file }: Asked): Promise<Json> {
  if (query.startsWith('subscription')) return firstOf(client, query, variables);
  if (!file) return (await client.post('/graphql', { query, variables })).body;
  const form = new FormData();
  form.append('operations', JSON.stringify({ query, variables }));
  form.append('map', '{"0":["variables.input.file"]}');
  form.append('0', file, 'vins.csv');
  return (await client.post('/graphql', form)).body;
}

const SILENCE_MS = 400;

async function firstOf(client: Client, query: string, variables: Json): Promise<Json> {
  const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
  const stream = await openStream(client, `/graphql?${search}`, { accept: 'text/event-stream' });
  const silence = Promise.withResolvers<null>();
  const timer = setTimeout(silence.resolve, SILENCE_MS, null);
  const first = stream.next();
  first.catch(() => {});
  return Promise.race([first.then(({ data }) => data), silence.promise]).finally(() => {
    clearTimeout(timer);
    stream.close();
  });
}

/** An answer with the names in it replaced by what they name, and without where in the document an error stands. */
function neutral(answer: Json, names: Names): Json {
  let text = JSON.stringify(answer);
  for (const [key, name] of Object.entries(names)) text = text.replaceAll(name, key);
  const shown = JSON.parse(text, (key, value) => (['requestId', 'locations'].includes(key) ? undefined : value));
  // The order of errors is a matter of chance.
  shown?.errors?.sort((a: Json, b: Json) => (`${a.path}` < `${b.path}` ? -1 : 1));
  return shown;
}

const namesOf = ({ client: _, company: __, ...names }: World): Names => names;

describe('every field of Query, Mutation and Subscription', () => {
  test('is walked here', () => {
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const all = roots.flatMap((root) => Object.keys(root?.getFields() ?? {}).map((field) => `${root?.name}.${field}`));
    expect(Object.keys(fields).toSorted()).toEqual(all.toSorted());
  });

  test.each(Object.entries(fields))("%s: another company's ids are answered as unknown ones", async (name, asked) => {
    const theirs = namesOf(acme);
    const unknown = neutral(await ask(stranger, asked(nobodys)), nobodys);
    const answer = await ask(stranger, asked(theirs));
    expect(neutral(answer, theirs)).toEqual(unknown);
    if (!judgesTheForm.includes(name))
      expect(neutral(await ask(stranger, asked(malformed)), malformed)).toEqual(unknown);
    expect(JSON.stringify(answer)).not.toMatch(/acme|Field service|whsec_/);
  });

  test('and nothing of that company is changed', async () => {
    expect(await everythingOf(acme.client)).toEqual(before);
    const ctx = contextOf(gateway.services, 'test', null);
    expect(await publishEvents(ctx)).toBe(0);
  });
});

describe('with a world of one’s own', () => {
  test('everything that can be reached from anywhere is one’s own', async () => {
    const text = JSON.stringify(await everythingOf(globex.client));
    for (const [what, id] of Object.entries(namesOf(acme))) {
      if (!what.endsWith('in')) expect(text, what).not.toContain(id);
    }
    expect(text).not.toContain('"company":"acme"');
    for (const id of [globex.fleetId, globex.vehicleId, globex.contractId, globex.webhookId, globex.deliveryId]) {
      expect(text).toContain(id);
    }
  });

  test("another company's ids narrow nested lists to nothing", async () => {
    const nested = `query ($own: ID!, $vehicle: ID!, $contract: ID!, $fleetId: ID, $vehicleId: ID, $contractId: ID) {
      fleet(id: $own) {
        contracts(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
        ofFleet: timeline(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
        ofVehicle: timeline(filter: { vehicleId: $vehicleId }) { totalCount nodes { id } }
        ofContract: timeline(filter: { contractId: $contractId }) { totalCount nodes { id } }
      }
      vehicle(by: { id: $vehicle }) {
        contracts(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
        timeline(filter: { contractId: $contractId }) { totalCount nodes { id } }
      }
      contract(id: $contract) { timeline(filter: { fleetId: $fleetId }) { totalCount nodes { id } } }
    }`;
    const { fleetId, vehicleId, contractId } = acme;
    const own = { own: globex.fleetId, vehicle: globex.vehicleId, contract: globex.contractId };
    const { data, errors } = await ask(globex.client, read(nested, { ...own, fleetId, vehicleId, contractId }));
    expect(errors).toBeUndefined();
    const lists = Object.values(data as Record<string, Json>).flatMap((parent) => Object.values(parent));
    expect(lists).toHaveLength(7);
    for (const list of lists) expect(list).toEqual({ totalCount: 0, nodes: [] });
  });

  test("another company's event is no place to go on from", async () => {
    const paged = 'query ($after: String) { events(after: $after) { nodes { id } } }';
    const codes = async (after: string) => (await ask(globex.client, read(paged, { after }))).errors?.[0].extensions;
    const theirs = await codes(acme.eventId);
    expect(theirs).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'after', code: 'INVALID_CURSOR' }] });
    expect({ ...theirs, requestId: '' }).toEqual({ ...(await codes(nobodys.eventId)), requestId: '' });
    const stream = 'subscription ($after: String) { events(after: $after) { id } }';
    expect(neutral(await ask(globex.client, read(stream, { after: acme.eventId })), namesOf(acme))).toEqual(
      neutral(await ask(globex.client, read(stream, { after: nobodys.eventId })), nobodys),
    );
  });

  test('one webhook’s delivery is not another’s', async () => {
    const redeliver = fields['Mutation.redeliver'] as (names: Names) => Asked;
    const { errors } = await ask(globex.client, redeliver({ ...namesOf(globex), deliveryId: acme.deliveryId }));
    expect(errors[0].extensions.code).toBe('NOT_FOUND');
    const crossed = await ask(globex.client, redeliver({ ...namesOf(globex), webhookId: acme.webhookId }));
    expect(crossed.errors[0].extensions.code).toBe('WEBHOOK_NOT_FOUND');
  });

  test('what happens elsewhere reaches no subscription', async () => {
    const everything = ['{ eligibilityChanged { vin } }', '{ events { id } }'].map((text) =>
      firstOf(globex.client, `subscription ${text}`, {}),
    );
    await acme.client.post('/vehicles', { fleetId: acme.fleetId, vins: newVins(1) });
    const { changes } = gateway.services;
    changes.emit('eligibility', { company: 'acme', vehicles: [[acme.vehicleId, acme.vin]] });
    await publishEvents(contextOf(gateway.services, 'test', null));
    expect(await Promise.all(everything)).toEqual([null, null]);
  });
});

/** Levels of objects that everythingOf follows from a root field; deeper ones lead nowhere new. */
const LEVELS = 4;

/**
 * What a company can see from every field of Query without an id, and from every field of what it sees there: read off
 * the schema, so that a new field is followed by itself.
 */
async function everythingOf(client: Client): Promise<Json> {
  const query = schema.getQueryType() as GraphQLObjectType;
  const roots = Object.values(query.getFields()).filter(needsNothing);
  return Promise.all(
    roots.map(async (root) => {
      const { data, errors } = await ask(client, read(`{ ${selectionOf(root, LEVELS)} }`));
      expect(errors).toBeUndefined();
      return data;
    }),
  );
}

const needsNothing = ({ args }: GraphQLField<unknown, unknown>) =>
  args.every(({ type }) => !String(type).endsWith('!'));

function selectionOf(field: GraphQLField<unknown, unknown>, levels: number): string {
  const type = getNamedType(field.type);
  if (isScalarType(type) || isEnumType(type) || !isObjectType(type)) return field.name;
  const parts = Object.values(type.getFields()).filter(needsNothing);
  const isPage = type.name.endsWith('Connection');
  const inner = parts
    // The same items by another name.
    .filter(({ name }) => !(isPage && name === 'edges'))
    .filter((part) => levels > 0 || !isObjectType(getNamedType(part.type)))
    .map((part) => selectionOf(part, isPage ? levels : levels - 1));
  const page = field.args.some(({ name }) => name === 'first') ? '(first: 4)' : '';
  return inner.length > 0 ? `${field.name}${page} { ${inner.join(' ')} }` : '';
}
