// Kills three processes at each step of carrying out contracts at both manufacturers.
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { inForce } from '../support/activations.ts';
import type { Json } from '../support/client.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import type { Endpoint } from '../support/documented-known.ts';
import { addVehicles, createContract, createFleet, newVins } from '../support/factories.ts';
import { askingAt, type SpawnedGateway, spawnGateway, testIssuer } from '../support/gateway.ts';
import { hasDocuments, unlessMissing } from '../support/published.ts';
import { BUDGET_MS, until } from '../support/until.ts';
import { type Received, UpstreamServer } from '../support/upstream.ts';

const env = await databaseEnv();
const DAY = 86_400_000;
/** Vehicles of each kill. */
const VEHICLES = 5;

/**
 * A process is killed when the manufacturer has got this request: before it is carried out, after that and before the answer, or
 * when the answer is noted.
 */
type Moment = [wmi: string, step: 'begin' | 'end', endpoint: Endpoint, when: 'before' | 'between' | 'after'];
const each = (wmi: string, step: 'begin' | 'end', endpoint: Endpoint): Moment[] =>
  (['before', 'between', 'after'] as const).map((when) => [wmi, step, endpoint, when]);
const moments: Moment[] = [
  ['WBA', 'begin', 'clearance-list', 'before'],
  ...each('WBA', 'begin', 'clearances'),
  ['W1K', 'begin', 'vehicles', 'before'],
  ['W1K', 'begin', 'vehicles', 'between'],
  ...each('W1K', 'begin', 'services'),
  ['WBA', 'end', 'clearance-list', 'before'],
  ...each('WBA', 'end', 'clearance-end'),
  ['W1K', 'end', 'service-status', 'before'],
  ...each('W1K', 'end', 'services'),
];

const settingsOf = (host: string, timeoutSeconds: string) => ({
  ...env,
  ...askingAt({ url: `http://${host}` }),
  CONTRACTS_ACTIVATION: 'on',
  PROVIDER_TIMEOUT_SECONDS: timeoutSeconds,
});

test.runIf(env.DATABASE_URL)(
  `after ${moments.length} kills among three processes, manufacturers have what the contracts say${unlessMissing}`,
  async () => {
    const issuer = await testIssuer();
    const upstream = await UpstreamServer.start('0.0.0.0');
    const { port } = new URL(upstream.url);
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((host) => `${host}:${port}`);
    // Each process has an address of its own for the manufacturers, which tells whose request it is.
    const start = (host: string) =>
      spawnGateway(
        {
          ...settingsOf(host, '1'),
          MERCEDES_URL: `http://${host}`,
          MERCEDES_TOKEN_URL: `http://${host}/v1/token`,
          MERCEDES_CLIENT_ID: 'client',
          MERCEDES_CLIENT_SECRET: 'secret',
          MERCEDES_PACKS: 'basic:1001',
        },
        { issuer },
      );
    const gateways = new Map<string, SpawnedGateway>();
    for (const host of hosts) gateways.set(host, await start(host));
    const database = await openDatabase(databaseConfig(env));
    const rows = (statement: string) => database.orm.em.fork().execute<Json[]>(statement);
    const client = () => [...gateways.values()][0]?.as('acme') ?? expect.fail('three processes run');

    /** Contracts of the vehicles of a fleet, in one call. */
    async function begin({ id: fleetId }: Json, vins: readonly string[]): Promise<Json[]> {
      const [from, to] = [-1000, 30 * DAY].map((ms) => new Date(Date.now() + ms).toISOString());
      const terms = { fleetId, vins, name: 'n', description: 'd', pack: 'basic', from, to };
      return (await client().post('/contracts/bulk', terms)).body.contracts;
    }

    /** The host of the process whose request about several of these vehicles has reached the moment. */
    function reached([, , endpoint, when]: Moment, vins: readonly string[]): Promise<string> {
      const moment = Promise.withResolvers<string>();
      const isIt = (one: Received) =>
        one.endpoint === endpoint &&
        // Looks are spread, so that one may be about a single vehicle.
        vins.filter((vin) => `${one.path} ${one.body}`.includes(vin)).length > (one.body === '' ? 0 : 1);
      upstream.behaves = (asked) => {
        if (!isIt(asked)) return null;
        upstream.behaves = () => null;
        const { host = '' } = asked.headers;
        return async (response, received) => {
          if (when !== 'before') await received.carryOut();
          if (when === 'after') response.writeHead(...answerOf(received)).end(JSON.stringify(received.answer?.[1]));
          if (when === 'after') await until(async () => (await rows(claimed(vins))).length === 0);
          moment.resolve(host);
        };
      };
      return moment.promise;
    }
    const claimed = (vins: readonly string[]) =>
      `select id from activation where vin in ('${vins.join("', '")}') and (claimed_by is not null or not asked)`;
    const answerOf = ({ answer: [status = 0, body] = [] as never }: Received) =>
      [status, body === undefined ? {} : { 'content-type': 'application/json' }] as const;

    const sets: { moment: Moment; vins: string[]; fleet: Json; contracts: Json[] }[] = [];
    for (const moment of moments) {
      const [fleet, vins] = [await createFleet(client()), newVins(VEHICLES, 0, moment[0])];
      await addVehicles(client(), vins, fleet);
      sets.push({ moment, vins, fleet, contracts: moment[1] === 'end' ? await begin(fleet, vins) : [] });
    }
    const stateOf = async ({ contracts }: (typeof sets)[number]) => {
      await client().post('/graphql', { query: refresh, variables: { ids: contracts.map(({ id }) => id) } });
      return rows(
        `select distinct activation from contract where id in ('${contracts.map(({ id }) => id).join("', '")}')`,
      );
    };
    const areActive = async (set: (typeof sets)[number]) => {
      const states = await stateOf(set);
      return states.length === 1 && states[0]?.activation === 'ACTIVE';
    };
    for (const set of sets) if (set.moment[1] === 'end') await until(() => areActive(set));

    for (const { moment, vins, fleet, ...set } of sets) {
      const host = reached(moment, vins);
      if (moment[1] === 'begin') Object.assign(set, { contracts: await begin(fleet, vins) });
      else await client().delete(`/fleets/${fleet.id}`);
      const victim = await host;
      await gateways.get(victim)?.stop('SIGKILL');
      gateways.set(victim, await start(victim));
      sets.find((one) => one.vins === vins)?.contracts.push(...(moment[1] === 'begin' ? set.contracts : []));
    }

    // Ends are looked at a minute after they were asked for; claims of killed processes last some seconds.
    const isOn = (vin: string) =>
      ['approved', 'ACTIVE'].includes(
        upstream.clearanceOf(vin)?.status ?? upstream.serviceOf(vin, '1001')?.status ?? '',
      );
    for (const set of sets.filter(({ moment }) => moment[1] === 'begin')) {
      await until(() => areActive(set), 2 * BUDGET_MS);
      expect(
        set.vins.filter((vin) => !isOn(vin)),
        set.moment.join(),
      ).toEqual([]);
    }
    const ended = sets.filter(({ moment }) => moment[1] === 'end').flatMap(({ vins }) => vins);
    // What was ended stays for a day, to be looked at.
    const left = `from activation where state <> 'ENDED' and`;
    await until(async () => (await rows(`select id ${left} not wanted`)).length === 0, 3 * BUDGET_MS);
    expect(ended.filter(isOn)).toEqual([]);
    expect(await rows(`select distinct vin ${left} vin in ('${ended.join("', '")}')`)).toEqual([]);

    // What changes something is asked once, and again only where a process was killed in between.
    const asked = (endpoint: Endpoint, vin: string) =>
      upstream.received.filter((one) => one.endpoint === endpoint && `${one.path} ${one.body}`.includes(vin)).length;
    for (const { vins, moment } of sets)
      for (const vin of vins) {
        expect([moment, asked('clearances', vin) <= 2, asked('clearance-end', vin) <= 2]).toEqual([moment, true, true]);
        expect([moment, asked('services', vin) <= 3]).toEqual([moment, true]);
      }
    expect(upstream.count('clearance'), '60 a minute are allowed').toBe(0);
    if (hasDocuments) expect(upstream.faults).toEqual([]);
    await Promise.all([...gateways.values()].map((gateway) => gateway.stop('SIGKILL')));
    await database.close();
    await upstream.close();
  },
  10 * BUDGET_MS,
);

test.runIf(env.DATABASE_URL)(
  'what a killed process has claimed is asked about by another, without a long delay',
  async () => {
    const issuer = await testIssuer();
    const upstream = await UpstreamServer.start('0.0.0.0');
    const { port } = new URL(upstream.url);
    // A claim lasts 90 seconds, longer than this test waits.
    const start = (host: string) => spawnGateway(settingsOf(`${host}:${port}`, '15'), { issuer });
    const hosts = ['127.0.0.1', '127.0.0.2'];
    const gateways = [await start(hosts[0] as string), await start(hosts[1] as string)];
    const killed = Promise.withResolvers<number>();
    upstream.behaves = ({ endpoint, headers: { host = '' } }) =>
      endpoint === 'clearances' ? () => killed.resolve(hosts.findIndex((one) => host.startsWith(one))) : null;
    const [client, vins] = [(gateways[0] as SpawnedGateway).as('globex'), newVins(VEHICLES, 0, 'WBA')];
    for (const vehicle of await addVehicles(client, vins)) await createContract(client, vehicle, inForce);
    await gateways[await killed.promise]?.stop('SIGKILL');
    upstream.behaves = () => null;
    await until(() => vins.every((vin) => upstream.clearanceOf(vin)?.status === 'approved'));
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGKILL')));
    await upstream.close();
  },
);

const refresh = `mutation($ids: [ID!]!) { refreshActivation(input: { ids: $ids }) { notFound } }`;
