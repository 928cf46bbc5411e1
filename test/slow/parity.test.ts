// Each operation of REST compared with GraphQL.
import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import type { Answer, Client, Json } from '../support/client.ts';
import { openStream } from '../support/event-stream.ts';
import { recount } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { askGraphql, askRest, type Call, rest, type Twin, textOf } from '../support/operation.ts';
import { operations, paired } from '../support/operations.ts';
import { publishEvents } from '../support/publish.ts';
import { neutral, newWorld, type World, worldVins } from '../support/worlds.ts';

const gateway = await startGateway({
  settings: {
    AUTH_SCOPES: 'on',
    CONTRACTS_AUTH: 'required',
    PACKS: 'driving-log,fuel',
    LIMIT_VINS: '20',
    LIMIT_FILE_BYTES: '10000',
    // A page of REST may be requested in GraphQL.
    LIMIT_GRAPHQL_COST: '1000000',
  },
});

/** The outcome of a call: a value, or an error in the form common to both interfaces. */
type Outcome = { value: Json } | { code: string; faults: string[]; message?: string; details: Json };

const inputErrorsOf = (errors: Json[] = []) => errors.map(({ path, code }) => `${path} ${code}`).toSorted();

async function byRest({ client }: World, operation: string, twin: Twin, call: Call): Promise<Outcome> {
  if (twin.streams) {
    const stream = await openStream(client, call.path).catch(() => null);
    if (stream) return { value: (await stream.next().finally(stream.close)).data };
  }
  return restOutcome(await askRest(client, operation, call), twin.document.includes('pageInfo'));
}

function restOutcome({ status, body, headers }: Answer, paged: boolean): Outcome {
  if (status < 400) {
    if (!paged) return { value: body };
    const [, next = null] = /[?&]after=([^>&]+)>/.exec(headers.get('link') ?? '') ?? [];
    return { value: { items: body, next } };
  }
  const {
    type: _,
    title: __,
    status: ___,
    requestId: ____,
    code,
    detail,
    errors,
    rejectedCsv: _____,
    ...details
  } = body;
  return { code, faults: inputErrorsOf(errors), message: detail, details };
}

async function byGraphql(world: World, twin: Twin, call: Call): Promise<Outcome> {
  const { document: query, field } = twin;
  const { data, errors } = twin.streams
    ? await firstEvent(world.client, query, call.variables)
    : (await askGraphql(world.client, twin, call)).body;
  if (!errors) {
    const value = data[field.split('.')[1] ?? ''];
    const refusal = twin.refusal?.(value);
    if (refusal) return refusal;
    return { value: twin.asRest ? twin.asRest(value, world) : rest(value) };
  }
  expect(errors).toHaveLength(1);
  const [{ message, path, extensions }] = errors;
  const { code, requestId: _, errors: faults, ...details } = extensions;
  // Before execution, GraphQL's types produce the errors, with their own messages.
  return { code, faults: inputErrorsOf(faults), ...(path && { message }), details };
}

async function firstEvent(client: Client, query: string, variables: Json): Promise<Json> {
  const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
  const stream = await openStream(client, `/graphql?${search}`, { accept: 'text/event-stream' });
  return (await stream.next().finally(stream.close)).data;
}

/** GraphQL's error with REST's names of inputs. */
function renamed(outcome: Outcome, names: Twin['renamed'] = {}): Outcome {
  if (!('faults' in outcome)) return outcome;
  const faults = outcome.faults.map((fault) => {
    const [, path = '', code] = /^(.*) (\w+)$/.exec(fault) ?? [];
    return `${names[path] ?? path} ${code}`;
  });
  if (faults.join() === outcome.faults.join()) return outcome;
  const { message: _, ...rest } = outcome;
  return { ...rest, faults };
}

let shared: World;
beforeAll(async () => {
  shared = await newWorld(gateway, 'shared');
  await gateway.execute(
    `update vehicle set status = 'ELIGIBLE', data_delivery = '{PULL}', attempts = 1, verified_at = now()
     where company = 'shared' and vin = '${shared.otherVin}'`,
  );
  await gateway.execute(recount);
  const ctx = contextOf(gateway.services, 'test', null);
  while (await publishEvents(ctx));
  const [{ id: eventId } = { id: '' }] = (await shared.client.get('/events')).body;
  shared = { ...shared, eventId };
});

let pairs = 0;
/** Two equal worlds if the operation writes, else one for both interfaces. */
async function worldsFor({ writes }: Twin): Promise<[World, World]> {
  if (!writes) return [shared, shared];
  const vins = worldVins();
  const pair = ++pairs;
  return [await newWorld(gateway, `left-${pair}`, vins), await newWorld(gateway, `right-${pair}`, vins)];
}

describe.each(paired)('%s', (operation, twin) => {
  test.each(Object.entries(twin.cases))('%s: both interfaces give the same answer', async (_, call) => {
    const [left, right] = await worldsFor(twin);
    const fromRest = await byRest(left, operation, twin, call(left));
    const fromGraphql = renamed(await byGraphql(right, twin, call(right)), twin.renamed);
    const expected: Json = neutral(fromRest, left);
    const found: Json = neutral(fromGraphql, right);
    if (found.message === undefined) delete expected.message;
    expect(found).toEqual(expected);
  });

  test('both interfaces need a token, and the same scopes', async () => {
    const scopes = ['', 'fleets:read', 'fleets:write', 'contracts:read', 'contracts:write'];
    const clients = await Promise.all(scopes.map((scope) => gateway.as('nobody', { scope })));
    const [call] = Object.values(twin.cases);
    for (const client of [gateway.anyone, ...clients]) {
      const asked = call?.({ ...shared, company: 'nobody', client }) ?? { path: '' };
      const onRest = refusalIn(await askRest(client, operation, asked));
      const bare = { ...twin, document: withoutSelection(twin.document) };
      const onGraphql = refusalIn(await askGraphql(client, bare, asked, { 'x-graphql-yoga-csrf': '1' }));
      expect(onGraphql).toBe(onRest);
    }
  });
});

/** The document with `__typename` as its only selection: nested objects may need more scopes than the field itself. */
function withoutSelection(document: string): string {
  const [, head = '', selection = ''] = /^([^{]*\{ \w+(?:\([^)]*\))? \{)(.*)\} \}$/s.exec(document) ?? [];
  return head === '' || selection.includes('$') ? document : `${head} __typename } }`;
}

/** The code of an authentication or authorisation error, else empty. */
const refusalIn = (answer: Answer): string => /"code":"(UNAUTHENTICATED|FORBIDDEN)"/.exec(textOf(answer))?.[1] ?? '';

describe('eligibility without an answer', () => {
  test('pending: an error in REST, the same as data in GraphQL', async () => {
    const { status, body } = await shared.client.get(`/vehicles/eligibility/${shared.vin}`);
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'ELIGIBILITY_IN_PROGRESS' });
    const outcome = await eligibilityOf(shared.vin);
    expect(outcome).toMatchObject({ value: body.eligibility });
  });

  test('unsupported: likewise', async () => {
    const { body: list } = await shared.client.get(`/fleets/${shared.fleetId}/vehicles`);
    const { vin } = list.find((vehicle: Json) => vehicle.manufacturer === 'ferrari');
    const { status, body } = await shared.client.get(`/vehicles/eligibility/${vin}`);
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'MANUFACTURER_NOT_SUPPORTED' });
    expect(await eligibilityOf(vin)).toMatchObject({ value: { status: 'UNSUPPORTED', eligible: null } });
  });

  const eligibilityOf = (vin: string) =>
    byGraphql(shared, operations['GET /vehicles/eligibility/:vin'] as Twin, { path: '', variables: { vin } });
});
