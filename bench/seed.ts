import pg from 'pg';
import { recount } from '../test/support/factories.ts';

/** The company whose data is read; other companies' rows must not slow its reads. */
export const COMPANY = 'bench';
/** The company that writes, so that the data of COMPANY stays the same. */
export const WRITER = 'bench-writes';

export interface Seed {
  fleetOf100: string;
  fleetOf1000: string;
  fleetOf100000: string;
  /** An eligible vehicle of fleetOf100. */
  vin: string;
  /** An import into fleetOf100, with refused rows. */
  importId: string;
}

/**
 * Creates one company with 48 fleets of 100 vehicles, one of 1,000 and one of 100,000, among `others` vehicles of 100
 * companies, all mixed. In all fleets but the largest, two of ten vehicles are not eligible, one failed, one is
 * pending.
 */
export async function seed(url: string, others: number): Promise<Seed> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  await client.query(`create temporary sequence made`);
  const fill = async (company: string, fleets: number, vehicles: number) => {
    for (let left = fleets; left > 0; left--) await client.query(fleetWith, [company, vehicles]);
  };
  await fill(COMPANY, 1, 1000);
  await fill(COMPANY, 1, 100_000);
  await fill(COMPANY, 48, 100);
  for (let company = 0; company < 100; company++) await fill(`other-${company}`, 10, others / 1000);
  for (const statement of mix) await client.query(statement);
  await client.query('analyze');
  await client.query(recount);
  const { rows } = await client.query(
    `select f.id, sum(t.delta)::int as size,
       (select vin from vehicle where company = f.company and fleet_id = f.id and status = 'ELIGIBLE' order by id limit 1) as vin
     from fleet f join vehicle_tally t on t.company = f.company and t.fleet_id = f.id where f.company = $1 group by f.company, f.id order by f.id`,
    [COMPANY],
  );
  const ofSize = (size: number) => rows.find((row) => row.size === size);
  const fleetOf100 = ofSize(100).id;
  for (const statement of [contracts, events, logs, webhooks, deliveries]) await client.query(statement);
  const { rows: imports } = await client.query(importOf, [COMPANY, fleetOf100]);
  await client.query('vacuum analyze');
  await client.end();
  return {
    fleetOf100,
    fleetOf1000: ofSize(1000).id,
    fleetOf100000: ofSize(100_000).id,
    vin: ofSize(100).vin,
    importId: imports[0].id,
  };
}

/** Ids that ascend in the order of creation, like UUIDv7. */
const id = (n: string) => `('01900000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
/** The time in milliseconds, as the service writes times from JavaScript. */
const now = `date_trunc('milliseconds', now())`;

/** A fleet ($1: its company, $2: the number of vehicles). */
const fleetWith = `
  with numbers as materialized (select nextval('made') as n from generate_series(0, $2::int)), fleet_row as (
    insert into fleet select ${id('n')}, $1, 'Fleet ' || n, 'Main Street 1, Berlin', 'fleet@example.com', 'DE' || n, ${now}, ${now}
    from numbers order by n limit 1 returning id
  )
  insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, data_delivery, connectivity_status,
    primary_user_assigned, reason, attempts, verified_at, due_at)
  select ${id('n')}, $1, fleet_row.id, 'WBA' || lpad(n::text, 14, '0'), 'bmw', ${now}, s.status,
    case s.status when 'ELIGIBLE' then '{PULL,PUSH}' else '{}' end::text[], case s.status when 'ELIGIBLE' then 'ACTIVATED' end,
    case s.status when 'ELIGIBLE' then true end,
    case when s.status <> 'ELIGIBLE' then jsonb_build_object('code', 'VIN_REFUSED', 'message', 'The manufacturer does not know this VIN.',
      'actor', 'CUSTOMER', 'retryable', false) end,
    1, case when s.status <> 'PENDING' then ${now} end, ${now} + interval '30 days' * (1 + random())
  from fleet_row, (select n from numbers order by n offset 1) numbers,
    lateral (select case when $2 < 100000 then (array['INELIGIBLE', 'INELIGIBLE', 'FAILED', 'PENDING'])[n % 10 + 1] end) odd(status),
    lateral (select coalesce(odd.status, 'ELIGIBLE')) s(status)`;

/** Mixes the vehicles of all companies on disk, as in production. */
const mix = [
  'create temporary table mixed as select * from vehicle order by md5(vin)',
  'truncate vehicle cascade',
  'insert into vehicle select * from mixed',
  'drop table mixed',
];

/** Two contracts per vehicle of the small fleets, and some of other companies. */
const contracts = `
  insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
  select new_uuid(), v.company, v.fleet_id, v.id, 'Telematics', 'Mileage and location', pack, ${now} - interval '1 year',
    ${now} + interval '1 year', ${now}, ${now} + interval '1 year'
  from fleet f join vehicle_tally t on t.company = f.company and t.fleet_id = f.id and t.status = 'ELIGIBLE'
    cross join lateral (
      select * from vehicle v where v.company = f.company and v.fleet_id = f.id order by v.id limit case f.company when '${COMPANY}' then 100 else 10 end
    ) v cross join unnest(array['basic', 'full']) pack
  where t.delta < 100000`;

/** Some events per fleet, each about one vehicle: 55 of COMPANY's, since no document may ask for 60 with their vehicles. */
const events = `
  insert into event (position, company, type, fleet_id, vehicle_ids, vins, actor, at, data)
  select row_number() over (partition by f.company), f.company, 'eligibility.changed', f.id, array[v.id], array[v.vin], 'system', ${now},
    '{"from": "PENDING", "to": "ELIGIBLE", "manufacturer": "bmw", "reason": null}'
  from fleet f cross join lateral (select id, vin from vehicle where company = f.company and fleet_id = f.id order by id
      limit case f.company when '${COMPANY}' then 11 else 100 end) v,
    generate_series(1, case f.company when '${COMPANY}' then 5 else 1 end)`;

/** A company's position is that of the last event in its log. */
const logs = `
  insert into company (company, position) select company, max(position) from event group by company
  on conflict (company) do update set position = excluded.position`;

const webhooks = `
  insert into webhook (id, company, url, description, secret, created_at, updated_at)
  select ${id('n')}, '${COMPANY}', 'https://example.com/hooks/' || n, 'Hook ' || n, 'none', ${now}, ${now} from generate_series(1, 5) n`;

/** A fifth of the deliveries failed. */
const deliveries = `
  insert into delivery (company, webhook_id, event_id, state, attempts, url, headers, status, answer, duration_ms, created_at, attempted_at)
  select w.company, w.id, e.id, case e.n % 5 when 0 then 'FAILED' else 'SUCCEEDED' end, 1 + e.n % 5, w.url, '{"content-type": "application/json"}',
    case e.n % 5 when 0 then 500 else 200 end, 'body', 12, ${now}, ${now}
  from webhook w, (select id, position::int as n from event where company = '${COMPANY}' order by position limit 200) e`;

/** An import ($1: the company, $2: the fleet) with 100 rejected rows; returns its id. */
const importOf = `
  with made as (
    insert into import (id, company, fleet_id, state, mode, dry_run, received, created, rejected, columns, started_at, finished_at)
    values (new_uuid(), $1, $2, 'COMPLETED', 'partial', false, 200, 100, 100, '{vin}', ${now}, ${now}) returning company, id
  ), refused as (
    insert into import_rejection (company, import_id, row, value, code, message, cells)
    select made.company, made.id, n, 'WBA' || n, 'VIN_INVALID_LENGTH', 'A VIN has 17 characters.', jsonb_build_array('WBA' || n)
    from made, generate_series(1, 100) n
  )
  select id from made`;
