import { contextOf } from '../../src/core/context.ts';
import {
  addVehicles,
  createContract,
  createFleet,
  newVins,
  recount,
  unknownId,
  uploadForm,
} from '../support/factories.ts';
import type { Gateway } from '../support/gateway.ts';
import { publishEvents } from '../support/publish.ts';
import { cursorOf, type Rows } from '../support/reference.ts';
import { newWorld } from '../support/worlds.ts';
import type { Pools } from './generate.ts';

const FLEETS = 5;
const PERIODS = [
  ['2020-01-01T00:00:00Z', '2021-01-01T00:00:00Z'],
  ['2022-01-01T00:00:00Z', '2996-01-01T00:00:00Z'],
  ['2997-01-01T00:00:00Z', '2998-01-01T00:00:00Z'],
] as const;

/** Gives a company objects of every kind and state, several pages of them; no state changes by itself. */
export async function makeWorld(gateway: Gateway, company: string): Promise<void> {
  const { client, fleetId, vin } = await newWorld(gateway, company);
  for (let number = 0; number < FLEETS; number++) {
    const fleet = await createFleet(client, { name: `Fleet ${number % 2} "é" ${number}`, vat: `DE${number % 3}` });
    const vehicles = number === 0 ? [] : await addVehicles(client, newVins(2 * number), fleet);
    for (const [at, vehicle] of vehicles.slice(0, 4).entries()) {
      const [from, to] = PERIODS[at % PERIODS.length] as readonly [string, string];
      await createContract(client, vehicle, {
        name: `Contract ${at}`,
        pack: at % 2 ? 'fuel' : 'driving-log',
        from,
        to,
      });
    }
  }
  for (const row of ['SHORT', vin]) await client.post('/vehicles/file', uploadForm(fleetId, `vin\n${row}\n`));
  await client.post('/webhooks', { url: 'https://example.com/more', types: ['fleet.created'] });
  await client.patch(`/fleets/${fleetId}`, { name: 'Fleet “é”', vat: 'DE9' });
  for (const [type, data] of events) {
    await gateway.execute(`insert into event (type, company, fleet_id, vehicle_ids, vins, actor, at, data)
      values ('${type}', '${company}', '${fleetId}', '{${unknownId}}', '{${vin}}', 'system', now(), '${JSON.stringify(data)}')`);
  }
  const ctx = contextOf(gateway.services, 'documents', null);
  while ((await publishEvents(ctx)) > 0);
  for (const statement of states) await gateway.execute(statement);
}

/** Events that only other commands or versions record. */
const reason = { message: 'M “é”', actor: 'OPERATOR', retryable: true };
const events: readonly (readonly [type: string, data: object])[] = [
  ['vehicle.moved', { from: unknownId, to: unknownId }],
  ['vehicle.removed', {}],
  ['eligibility.changed', { from: 'PENDING', to: 'ELIGIBLE', manufacturer: 'bmw', reason: null }],
  [
    'eligibility.changed',
    { from: 'ELIGIBLE', to: 'FAILED', manufacturer: null, reason: { code: 'NEW_IN_2030', ...reason } },
  ],
  [
    'eligibility.changed',
    { from: 'FAILED', to: 'INELIGIBLE', manufacturer: 'x', reason: { code: 'REFUSED', ...reason } },
  ],
  ['fleet.archived', { name: 'x', since: [2030] }],
];

/** States that only follow answers of manufacturers and receivers. */
const states = [
  `update vehicle v set status = s.status, attempts = s.n, verified_at = to_timestamp(1767261600.5 + get_byte(uuid_send(v.id), 14) % 3),
     reason = s.reason::jsonb, data_delivery = s.ways, connectivity_status = s.connected, primary_user_assigned = s.n = 2,
     claimed_by = case when s.n = 3 then v.id end
   from (values (1, 'ELIGIBLE', null, array['PULL','PUSH'], 'ACTIVATED'), (2, 'INELIGIBLE', '{"code":"NOT_ELIGIBLE","message":"no","actor":"CUSTOMER","retryable":false}', '{}', null),
     (3, 'FAILED', '{"code":"X","message":"“x”","actor":"OPERATOR","retryable":true}', '{}', 'UNKNOWN')) s(n, status, reason, ways, connected)
   where get_byte(uuid_send(v.id), 15) % 5 = s.n`,
  recount,
  `update delivery set state = 'FAILED', attempts = 2, url = 'https://example.com/events', headers = '{"b":"1","a":"2"}',
     status = 500, answer = 'é"', duration_ms = 12, attempted_at = timestamptz '2026-01-01 10:00Z', due_at = null
   where get_byte(uuid_send(id), 15) % 2 = 0`,
  `update webhook set state = 'PAUSED', reason = 'It did not answer.', old_secret_until = timestamptz '2999-01-01Z'
   where types <> '{}'`,
];

const VERIFIED = ['2026-01-01T10:00:00.5Z', '2026-01-01T10:00:00.501Z', '2026-01-02T10:00:00Z', '2999-01-01T00:00:00Z'];

const RARE = 40;
/** The usual values many times, with a few others. */
const mostly = <T>(usual: readonly T[], ...others: T[]): readonly T[] => [
  ...Array.from({ length: RARE * others.length }, (_, at) => usual[at % usual.length] as T),
  ...others,
];

const sortedBy: Partial<Record<keyof Rows, string[]>> = {
  fleet: ['NAME', 'VEHICLE_COUNT', 'ATTENTION_COUNT'],
  vehicle: ['VIN', 'VERIFIED_AT'],
  contract: ['FROM', 'TO'],
};

/** Cursors of every row, most of them in the order of creation. */
const cursorsOf = (kind: Exclude<keyof Rows, 'now'>, rows: Rows): string[] => [
  ...[1, 2, 3].flatMap(() => rows[kind].map((row) => cursorOf(row))),
  ...['ASC', 'DESC'].flatMap((direction) =>
    (sortedBy[kind] ? ['CREATED_AT', ...sortedBy[kind]] : []).flatMap((field) =>
      rows[kind].map((row) => cursorOf(row, { field, direction })),
    ),
  ),
];

/** Values for arguments, most of which match something. */
export function poolsOf(rows: Rows): Pools {
  const idsOf = (kind: Exclude<keyof Rows, 'now'>) => rows[kind].map(({ id }) => id as string);
  const some = (ids: string[]) => mostly([...ids, ids[0]?.toUpperCase()], unknownId, 'x', '', '\0');
  const hours = [0, 1, 30].map((hour) => new Date(Date.now() - hour * 3_600_000).toISOString());
  const vins = rows.vehicle.map(({ vin }) => vin as string);
  const someVins = mostly([...vins, vins[0]?.toLowerCase(), ` ${vins[1]}`], '', 'WBA', '\0');
  const cursors = Object.fromEntries(
    (['fleet', 'vehicle', 'contract', 'event', 'history', 'import', 'webhook', 'delivery'] as const).map((kind) => [
      `${kind[0]?.toUpperCase()}${kind.slice(1)}Connection`,
      mostly([...cursorsOf(kind, rows), ...(kind === 'event' ? idsOf(kind) : [])], 'x', ''),
    ]),
  );
  cursors.RejectedRowConnection = mostly(cursorsOf('import_rejection', rows), 'x', '');
  const anyIds = (
    ['fleet', 'vehicle', 'contract', 'event', 'history', 'import', 'webhook', 'delivery'] as const
  ).flatMap(idsOf);
  return {
    first: mostly([1, 2, 3, 5, 1000], 0),
    last: [1, 2, 3, 5],
    after: cursors,
    before: cursors,
    id: {
      Fleet: some(idsOf('fleet')),
      Contract: some(idsOf('contract')),
      Import: some(idsOf('import')),
      Event: some(idsOf('event')),
      Webhook: some(idsOf('webhook')),
      VehicleBy: some(idsOf('vehicle')),
      Node: some(anyIds),
    },
    ids: some(anyIds),
    fleetId: some(idsOf('fleet')),
    fleetIds: some(idsOf('fleet')),
    verifiedBefore: mostly(VERIFIED, 'yesterday'),
    verifiedAfter: VERIFIED,
    contractId: some(idsOf('contract')),
    historyId: some(idsOf('history')),
    from: mostly(hours, 'yesterday', '2000-01-01T00:00:00Z'),
    to: hours,
    vehicleId: some(idsOf('vehicle')),
    vin: {
      VehicleFilter: mostly(
        [...vins, ` ${vins[0]?.toLowerCase()}`, 'WBA', 'wb-a', 'wb', vins[1]?.slice(-5), '000'],
        'W',
        '',
        'WIO',
        '\0',
      ),
      ...Object.fromEntries(['VehicleBy', 'ContractFilter', 'EventFilter', 'Eligibility'].map((of) => [of, someVins])),
    },
    text: mostly(['Fleet', 'fLÉET 0', 'e', 'wba', vins[0]?.slice(-4), vins[1], 'ontra'], '', '\0'),
    name: mostly(['', 'Fleet', 'fleet 0', 'ÉT', '%', '_'], 'F\0'),
    vat: mostly(['', 'DE0', 'DE1', 'x'], '\0'),
    manufacturer: mostly(['bmw', 'ferrari', 'x', ''], '\0'),
    pack: mostly(['driving-log', 'fuel', 'x', ''], '\0'),
    packs: mostly(['driving-log', 'fuel', 'x', ''], '\0'),
    since: mostly(['2000-01-01T00:00:00Z', '2999-01-01T00:00:00Z'], 'yesterday'),
    until: ['2000-01-01T00:00:00Z', '2999-01-01T00:00:00Z'],
  };
}
