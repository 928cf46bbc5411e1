import type { startWorld } from './activation-world.ts';
import { cleared, served } from './activation-world.ts';
import { DAY, HOUR, MINUTE } from './activations.ts';
import type { Client } from './client.ts';
import { contractFields, createFleet } from './factories.ts';
import { renewals } from './renewals.ts';
import type { Term } from './wishes.ts';

type World = Awaited<ReturnType<typeof startWorld>>;
interface Vehicle {
  id: string;
  vin: string;
  fleetId: string;
}
type Doing = (company: string, client: Client) => Promise<unknown>;

const vins = [...cleared, ...served];

/** Companies that share vehicles. */
export const companies = ['first', 'second'];
/** Companies whose many contracts begin and end at the same time. */
const large = ['third', 'fourth'];
export const all = [...companies, ...large];

/** Vehicles with their contracts: a list by the wire for each operation would cost more than the operation. */
const state = (of: readonly string[]) => `
  select v.company, v.id as "vehicleId", v.vin, v.fleet_id as "fleetId", c.id, c.pack,
    (extract(epoch from c.starts_at) * 1000)::float8 as "from", (extract(epoch from c.ends_at) * 1000)::float8 as "to"
  from vehicle v left join contract c on c.company = v.company and c.vehicle_id = v.id
  where v.company in (${of.map((one) => `'${one}'`)})
    and not exists (select from fleet f where f.company = v.company and f.id = v.fleet_id and f.deletion is not null)`;
type Row = Omit<Term, 'id'> & Omit<Vehicle, 'id'> & { id: string | null; vehicleId: string };

/** What companies do, by chance, and how their vehicles and contracts stand. */
export async function operationsIn(world: World, many: number) {
  const { wishes, clock, random, below, oneOf, manufacturers } = world;
  const time = (ms: number) => new Date(clock() + ms).toISOString();
  const vehicles = new Map<string, Vehicle[]>();
  const fleets = new Map<string, string[]>();
  for (const company of companies) {
    const client = await world.one().as(company);
    fleets.set(company, [(await createFleet(client)).id, (await createFleet(client)).id]);
  }

  const fleetOf = (company: string) => oneOf(fleets.get(company) ?? []);
  const vehicleOf = (company: string) => oneOf(vehicles.get(company) ?? []);
  const termsOf = (company: string) => [...wishes.terms.values()].filter((one) => one.company === company);
  const someOf = <T>(from: readonly T[], most: number): T[] => [
    ...new Set(Array.from({ length: Math.min(from.length, 1 + below(most)) }, () => oneOf(from))),
  ];

  async function begin(client: Client, some: readonly Omit<Vehicle, 'id'>[], text: string): Promise<void> {
    const [first] = some;
    if (!first) return;
    const from = oneOf([-MINUTE, 0, 0, 30 * MINUTE, 90 * MINUTE]);
    const to = from + oneOf([MINUTE * 2, 90 * MINUTE, 2 * DAY, 2 * DAY]);
    for (const { vin } of some) wishes.touch(vin, text);
    const terms = { from: time(from), to: time(to), pack: oneOf([...'abcdef']) };
    const { vin: _, ...shared } = contractFields(first, terms);
    if (some.length === 1) await client.post('/contracts', contractFields(first, terms));
    else await client.post('/contracts/bulk', { ...shared, vins: some.map(({ vin }) => vin) });
  }

  /** Does something about one of the company's contracts, if it has any. */
  const aboutContract =
    (name: string, act: (client: Client, one: Term, vehicle?: Vehicle) => Promise<unknown>): Doing =>
    async (company, client) => {
      const one = oneOf(termsOf(company).filter(({ to }) => to > clock() - 3 * HOUR));
      if (!one) return;
      wishes.note(one.vin, `${company}: ${name} of ${one.id}`);
      const vehicle = vehicles.get(company)?.find(({ vin }) => vin === one.vin);
      await act(client, one, vehicle);
    };

  const operations: [weight: number, Doing][] = [
    [
      2,
      async (company, client) => {
        const fleetId = fleetOf(company);
        const some = someOf(vins, 8);
        await client.post('/vehicles', { fleetId, vins: some });
        const isContracted = random() < 0.5;
        const own = some.map((vin) => ({ vin, fleetId }));
        if (isContracted) await begin(client, own, `${company}: a contract of a new vehicle`);
      },
    ],
    [
      5,
      async (company, client) => {
        const fleetId = fleetOf(company);
        const busy = new Set(termsOf(company).flatMap(({ vin, to }) => (to > clock() ? vin : [])));
        const own = (vehicles.get(company) ?? []).filter((one) => one.fleetId === fleetId);
        const free = own.filter(({ vin }) => !busy.has(vin));
        await begin(client, someOf(free.length > 0 && random() < 0.8 ? free : own, 6), `${company}: a new contract`);
      },
    ],
    // A contract that goes on after another one, with a gap or without.
    [
      3,
      aboutContract('a successor', async (client, { vin, pack, to }, vehicle) => {
        const from = to + oneOf([0, 1000, 50 * MINUTE, 70 * MINUTE]);
        const period = { from: new Date(from).toISOString(), to: new Date(from + 3 * HOUR).toISOString() };
        wishes.touch(vin, 'a successor');
        if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack }));
      }),
    ],
    [1, aboutContract('deletion', (client, { id }) => client.delete(`/contracts/${id}`))],
    [1, aboutContract('the end now', (client, { id }) => client.post(`/contracts/${id}/end`))],
    // What the end did may come after what the new contract asked for.
    [
      2,
      aboutContract('the end now, and a new contract', async (client, { id, vin, pack }, vehicle) => {
        await client.post(`/contracts/${id}/end`);
        await world.one().work();
        wishes.touch(vin, 'a new contract after the end');
        const period = { from: time(0), to: time(2 * DAY) };
        if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack }));
      }),
    ],
    [
      1,
      aboutContract('a refresh', (client, { id, vin }) => {
        wishes.touch(vin, 'asked again');
        return client.post(`/contracts/${id}/activation/refresh`);
      }),
    ],
    [
      1,
      aboutContract('another end', (client, { id }) =>
        client.patch(`/contracts/${id}`, { to: time(oneOf([MINUTE, 20 * MINUTE, 3 * HOUR, 2 * DAY])) }),
      ),
    ],
    [
      0.5,
      async (company, client) => {
        const vehicle = vehicleOf(company);
        if (!vehicle) return;
        wishes.note(vehicle.vin, `${company}: deletion of the vehicle`);
        await client.delete(`/vehicles/${vehicle.id}`);
      },
    ],
    [
      1,
      async (company, client) => {
        const vehicle = vehicleOf(company);
        if (vehicle) await client.post('/vehicles/move', { fleetId: fleetOf(company), ids: [vehicle.id] });
      },
    ],
    [
      0.1,
      async (company, client) => {
        const [first, ...others] = fleets.get(company) ?? [];
        for (const vin of vins) wishes.note(vin, `${company}: deletion of a fleet`);
        await client.delete(`/fleets/${first}`);
        fleets.set(company, [...others, (await createFleet(client)).id]);
      },
    ],
    [
      0.5,
      async () => {
        const own = oneOf([cleared, served]);
        const active = [...wishes.programs].filter(([, { vin, status }]) => status === 'ACTIVE' && own.includes(vin));
        const one = oneOf(active);
        if (one) manufacturers.revoke(one[0]);
      },
    ],
    [0.2, async () => manufacturers.forget(oneOf(served))],
    [
      1,
      async () => {
        const vin = oneOf(cleared);
        wishes.note(vin, 'a webhook');
        for (let n = below(3); n >= 0; n--) await world.deliverWebhook(vin, `${below(20)}`);
      },
    ],
    [0.1, () => world.changeSettings()],
  ];
  const bag = operations.flatMap(([weight, doing]) => Array.from({ length: weight * 10 }, () => doing));

  return {
    anyOperation: () => oneOf(bag),
    renewMany: renewals({ ...world, companies: large, count: many }),
    /** Reads the vehicles and contracts of these companies, and compares the programs of contracts that have changed. */
    async read(of: readonly string[]): Promise<void> {
      const rows = await world.base.execute<Row>(state(of));
      const byCompany = Map.groupBy(rows, ({ company }) => company);
      for (const company of of) {
        const own = byCompany.get(company)?.map(({ vehicleId: id, vin, fleetId }) => ({ id, vin, fleetId }));
        vehicles.set(company, own ?? []);
      }
      const terms = rows.flatMap(({ id, company, vin, pack, from, to }) =>
        id === null ? [] : { id, company, vin, pack, from, to },
      );
      wishes.tick(wishes.set(of, terms));
    },
    /** Deletes contracts that have been over for long. */
    async tidy(company: string): Promise<void> {
      const ids = termsOf(company).flatMap(({ id, to }) => (to < clock() - 2 * DAY ? id : []));
      if (ids.length > 0) await (await world.one().as(company)).delete('/contracts', { ids: ids.slice(0, 1000) });
    },
  };
}
