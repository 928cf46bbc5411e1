import { CompiledQuery, type Kysely, type QueryExecutor } from 'kysely';
import { describe, expect, test } from 'vitest';
import { VerifyEligibility } from '../src/jobs/verify-eligibility.ts';
import { toolsOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicles, createContract, createFleet, newVin, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { otherCompanies } from './support/other-companies.ts';
import { genericPlan } from './support/plans.ts';

// schema.test.ts compares entities and migrations; this file tests that queries use the indexes.

const gateway = await startGateway();
const acme = await gateway.as('acme');
const { orm } = gateway.database;

const fleet = await createFleet(acme);
const [vehicle, other] = await addVehicles(acme, newVins(2), fleet);
const contract = await createContract(acme, vehicle);
const { body: upload } = await acme.post('/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\nbad\n`));

for (const statement of otherCompanies) await gateway.execute(statement);

interface Statement {
  sql: string;
  parameters: readonly unknown[];
  /** Whether the statement has one generic plan. */
  planned?: 'once';
}
/** All statements that the service sends, through Kysely or directly, while they are recorded. */
const statements: Statement[] = [];
const { add, read } = gateway.database;
gateway.database.add = (sql, parameters) => {
  statements.push({ sql, parameters, planned: 'once' });
  return add(sql, parameters);
};
gateway.database.read = (sql, parameters, asTexts) => {
  statements.push({ sql, parameters, planned: 'once' });
  return read(sql, parameters, asTexts);
};
const { send } = gateway.database;
gateway.database.send = (sql, parameters) => {
  statements.push({ sql, parameters });
  return send(sql, parameters);
};
const { slowRead } = gateway.database;
gateway.database.slowRead = (sql, parameters, how) => {
  statements.push({ sql, parameters });
  return slowRead(sql, parameters, how);
};
const fork = orm.em.fork.bind(orm.em);
orm.em.fork = ((...args: Parameters<typeof fork>) => {
  const em = fork(...args);
  const getKysely = em.getKysely.bind(em);
  em.getKysely = ((...options: Parameters<typeof getKysely>) => ({
    getExecutor: () => watched((getKysely(...options) as Kysely<unknown>).getExecutor()),
  })) as typeof em.getKysely;
  return em;
}) as typeof orm.em.fork;

function watched(executor: QueryExecutor): QueryExecutor {
  return new Proxy(executor, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (name !== 'executeQuery') return typeof member === 'function' ? member.bind(target) : member;
      return (query: CompiledQuery, ...rest: []) => {
        statements.push(query);
        return target.executeQuery(query, ...rest);
      };
    },
  });
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
}

async function planOf({ sql, parameters, planned }: Statement, without = ['seqscan']): Promise<Plan> {
  return fork().transactional(async (em) => {
    for (const way of without) await em.execute(`set local enable_${way} = off`);
    const run = async (statement: string, values: readonly unknown[] = []) =>
      (await em.getKysely<unknown>().executeQuery<Record<string, Json>>(CompiledQuery.raw(statement, [...values])))
        .rows;
    if (planned) return genericPlan<Plan>(run, sql);
    const [row] = await run(`explain (format json) ${sql}`, parameters);
    const plan = row?.['QUERY PLAN'];
    return (typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan;
  });
}

/** Partial indexes whose rows are exactly the wanted ones. */
const exact = ['vehicle_due_by_company', 'import_due', 'fleet_being_deleted'];
/** Tables so small that they are read completely. */
const small = ['worker', 'webhook', 'company'];

/** Scans of a plan that read more of a table than the wanted rows. */
function scansOf(plan: Plan): string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index = '', 'Index Cond': condition } = plan;
  const below = (plan.Plans ?? []).flatMap(scansOf);
  if (small.includes(table ?? '')) return below;
  if (type === 'Seq Scan') return [`${type} on ${table} (${plan.Filter})`, ...below];
  const whole = /^(Index|Bitmap Index)/.test(type) && !condition && !exact.includes(index);
  return whole ? [`${type} of all of ${index} (${plan.Filter})`, ...below] : below;
}

const graphql = (query: string) => async () => {
  const { body } = await acme.post('/graphql', { query });
  expect(body.errors).toBeUndefined();
};
const conditions = encodeURIComponent('{"company":"acme"}');
const after = Buffer.from(fleet.id.replaceAll('-', ''), 'hex').toString('base64url');
const inFleet = (fields: string) => graphql(`{ fleet(id: "${fleet.id}") { ${fields} } }`);

/** Lists with their orders; the few contracts of a vehicle may be sorted. */
const sortable: [name: string, by: string[], ask: (sort: string, orderBy: string) => Promise<unknown>][] = [
  ['GET /fleets', ['createdAt', 'name'], (sort) => acme.get(`/fleets?limit=2&sort=${sort}`)],
  ['GET /vehicles', ['createdAt', 'vin', 'verifiedAt'], (sort) => acme.get(`/vehicles?limit=2&sort=${sort}`)],
  [
    'GET /fleets/{fleetId}/vehicles',
    ['createdAt', 'vin', 'verifiedAt'],
    (sort) => acme.get(`/fleets/${fleet.id}/vehicles?limit=2&sort=${sort}`),
  ],
  [
    'GET /contracts',
    ['createdAt', 'from', 'to'],
    (sort) => acme.get(`/contracts?conditions=${conditions}&limit=2&sort=${sort}`),
  ],
  [
    'vehicles of a fleet',
    ['createdAt', 'vin', 'verifiedAt'],
    (_sort, orderBy) => inFleet(`vehicles(first: 2, orderBy: ${orderBy}) { nodes { id } }`)(),
  ],
  [
    'contracts of a fleet',
    ['createdAt', 'from', 'to'],
    (_sort, orderBy) => inFleet(`contracts(first: 2, orderBy: ${orderBy}) { nodes { id } }`)(),
  ],
];

const nodesOf = (plan: Plan): string[] => [plan['Node Type'], ...(plan.Plans ?? []).flatMap(nodesOf)];

describe.each(sortable)('%s', (_name, by, ask) => {
  test.each(by.flatMap((name) => [name, `-${name}`]))('sorted by %s is in the order of an index', async (sort) => {
    const field = sort.replace('-', '').replace('At', '_at').toUpperCase();
    statements.length = 0;
    await ask(sort, `{ field: ${field}, direction: ${sort.startsWith('-') ? 'DESC' : 'ASC'} }`);
    const lists = statements.filter(({ sql }) => /\sorder by /.test(sql));
    expect(lists).not.toEqual([]);
    for (const statement of lists) {
      const plan = await planOf(statement, ['seqscan', 'sort', 'incremental_sort']);
      expect(
        nodesOf(plan).filter((node) => /Sort/.test(node)),
        statement.sql,
      ).toEqual([]);
      expect(scansOf(plan), statement.sql).toEqual([]);
    }
  });
});

const lookups: Record<string, () => Promise<unknown>> = {
  'GET /fleets': () => acme.get('/fleets'),
  'GET /fleets, a page': () => acme.get(`/fleets?limit=2&after=${after}`),
  'GET /fleets/{fleetId}': () => acme.get(`/fleets/${fleet.id}`),
  'GET /fleets/{fleetId}/vehicles': () => acme.get(`/fleets/${fleet.id}/vehicles`),
  'GET /fleets/{fleetId}/vehicles, a page': () => acme.get(`/fleets/${fleet.id}/vehicles?limit=1&after=${after}`),
  'GET /vehicles': () => acme.get('/vehicles'),
  'GET /vehicles of a fleet': () => acme.get(`/vehicles?fleetId=${fleet.id}&eligibility=FAILED`),
  'GET /vehicles by status and reason': () => acme.get('/vehicles?eligibility=FAILED,PENDING&actor=CUSTOMER'),
  'GET /vehicles by the time of the answer': () =>
    acme.get('/vehicles?verifiedAfter=2026-01-01T00:00:00Z&sort=verifiedAt'),
  'vehicles of the company, counted': graphql(
    '{ vehicles(filter: { eligibility: [FAILED] }) { totalCount nodes { id fleet { id } } } }',
  ),
  nodes: () =>
    graphql(`{ nodes(ids: ["${fleet.id}", "${vehicle.id}", "${contract.id}", "${upload.importId}"]) { id } }`)(),
  'POST /vehicles': () => acme.post('/vehicles', { fleetId: fleet.id, vins: newVins(3) }),
  'GET /vehicles/{vehicleId}': () => acme.get(`/vehicles/${vehicle.id}`),
  'GET /vehicles/eligibility/{vin}': () => acme.get(`/vehicles/eligibility/${vehicle.vin}`),
  'POST /vehicles/eligibility/{vin}/refresh': () => acme.post(`/vehicles/eligibility/${vehicle.vin}/refresh`),
  'DELETE /vehicles': () => acme.delete('/vehicles', { fleetId: fleet.id, ids: [other.id], vins: [other.vin] }),
  'GET /contracts': () => acme.get(`/contracts?conditions=${conditions}`),
  'GET /contracts, a page': () => acme.get(`/contracts?conditions=${conditions}&limit=1&after=${after}`),
  'GET /contracts/{id}': () => acme.get(`/contracts/${contract.id}`),
  'GET /imports/{id}': () => acme.get(`/imports/${upload.importId}`),
  'GET /imports/{id}/rejected.csv': () => acme.get(`/imports/${upload.importId}/rejected.csv`),
  'Idempotency-Key': () => acme.post('/vehicles/eligibility/x/refresh', undefined, { 'idempotency-key': 'k' }),
  fleets: graphql('{ fleets(first: 2) { totalCount nodes { id vehicleCount } } }'),
  'fleets, from the end': graphql('{ fleets(last: 2) { nodes { id } } }'),
  'fleets by a part of their name': graphql('{ fleets(filter: { name: "Fie" }) { totalCount nodes { id } } }'),
  'fleets of fleets': graphql(
    '{ fleets { nodes { vehicles { totalCount nodes { id } } contracts { nodes { id } } } } }',
  ),
  'the vehicles of a fleet by eligibility': inFleet(
    'vehicles(filter: { eligibility: PENDING }) { totalCount nodes { id } }',
  ),
  'the vehicles of a fleet by manufacturer': inFleet(
    'vehicles(filter: { manufacturer: "bmw" }) { totalCount nodes { id } }',
  ),
  'the vehicles of a fleet by the beginning of their VIN': inFleet(
    'vehicles(filter: { vin: "WBA" }) { totalCount nodes { id } }',
  ),
  'the eligibility summary of a fleet': inFleet('eligibilitySummary { __typename }'),
  'vehicle by VIN': graphql(
    `{ vehicle(by: { vin: "${vehicle.vin}" }) { id fleet { id } contracts { nodes { id } } } }`,
  ),
  'vehicle by id': graphql(`{ vehicle(by: { id: "${vehicle.id}" }) { id } }`),
  contracts: graphql('{ contracts { totalCount nodes { id fleet { id } vehicle { id } } } }'),
  'contracts of a fleet': graphql(`{ contracts(filter: { fleetId: "${fleet.id}" }) { totalCount nodes { id } } }`),
  'contracts of a VIN': graphql(`{ contracts(filter: { vin: "${vehicle.vin}" }) { totalCount nodes { id } } }`),
  'contracts by pack and status': graphql(
    '{ contracts(filter: { pack: "driving-log", status: SCHEDULED }) { totalCount nodes { id } } }',
  ),
  'vehicles that have come due': async () => {
    const job = new VerifyEligibility(toolsOf(gateway, () => {}));
    await job.run(new AbortController().signal);
    await job.stop?.();
  },
  'DELETE /contracts/{id}': () => acme.delete(`/contracts/${contract.id}`),
  'DELETE /vehicles/{vehicleId}': () => acme.delete(`/vehicles/${vehicle.id}`),
  'DELETE /fleets/{fleetId}': () => acme.delete(`/fleets/${fleet.id}`),
};

test.each(Object.entries(lookups))('%s reads only the wanted rows, by an index', async (_name, look) => {
  statements.length = 0;
  await look();
  expect(statements).not.toEqual([]);
  for (const statement of [...statements]) {
    expect(scansOf(await planOf(statement)), statement.sql).toEqual([]);
  }
});

test('a look-up without an index is noticed', async () => {
  for (const [where, scan] of [
    [`vat = 'v7'`, 'Seq Scan on fleet'],
    [`vat = 'v7' order by company, id`, 'Index Scan of all of fleet_pkey'],
  ]) {
    const plan = await planOf(CompiledQuery.raw(`select id from fleet where ${where}`));
    expect(scansOf(plan)).toEqual([expect.stringContaining(scan ?? '')]);
  }
});
