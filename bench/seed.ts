import pg from 'pg';

/** Whose data is read. Everything else belongs to others and must not be noticed. */
export const COMPANY = 'bench';

export interface Seed {
  fleetOf100: string;
  fleetOf1000: string;
  fleetOf100000: string;
  vin: string;
}

/** One company with 48 fleets of 100 vehicles, one of 1,000 and one of 100,000, among `others` vehicles of 100 companies. */
export async function seed(url: string, others: number): Promise<Seed> {
  const client = new pg.Client(url);
  await client.connect();
  const sizes = [1000, 100_000, ...Array<number>(48).fill(100)];
  await fill(client, COMPANY, sizes);
  for (let company = 0; company < 100; company++)
    await fill(client, `other-${company}`, Array<number>(10).fill(others / 1000));
  await client.query('vacuum analyze');
  const { rows } = await client.query(
    `select f.id, sum(t.delta)::int as size, (select vin from vehicle where fleet_id = f.id limit 1) as vin
     from fleet f join vehicle_tally t on t.fleet_id = f.id where f.company = $1 group by f.id order by f.id`,
    [COMPANY],
  );
  await client.end();
  const ofSize = (size: number) => rows.find((row) => row.size === size);
  return {
    fleetOf100: ofSize(100).id,
    fleetOf1000: ofSize(1000).id,
    fleetOf100000: ofSize(100_000).id,
    vin: ofSize(100).vin,
  };
}

let made = 0;

async function fill(client: pg.Client, company: string, sizes: number[]): Promise<void> {
  for (const size of sizes) {
    const first = made;
    made += size;
    await client.query(
      `with fleet_row as (
         insert into fleet values (${uuidOf('$1::int')}, $2::text, 'Fleet ' || $1, 'Main Street 1, Berlin', 'fleet@example.com', 'DE' || $1, now(), now())
         returning id
       )
       insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, data_delivery, connectivity_status,
         primary_user_assigned, attempts, verified_at, due_at)
       select ${uuidOf('n')}, $2, fleet_row.id, 'WBA' || lpad(n::text, 14, '0'), 'bmw', now(), 'ELIGIBLE',
         '{PULL,PUSH}', 'ACTIVATED', true, 1, now(), now() + interval '30 days' * (1 + random())
       from fleet_row, generate_series($1::int + 1, $1::int + $3::int) n`,
      [first, company, size],
    );
  }
}

/** Ids in the order of creation, as UUIDv7s are. */
const uuidOf = (n: string) => `('01900000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
