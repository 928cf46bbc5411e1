import { recount } from './factories.ts';

const id = (table: number) =>
  `('0198000${table}-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'company ' || n % 100`;
const vehicleOf = `('01980001-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
const fleetOf = `('01980000-0000-7000-8000-' || lpad(to_hex((n - 1) % 2000 + 1), 12, '0'))::uuid`;

/** Statements that add rows of other companies, enough that a full scan is never cheaper. */
export const otherCompanies = [
  `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
   select ${id(0)}, 'Fleet ' || n, 'a', 'e@example.com', 'v' || n, now(), now() from generate_series(1, 2000) n`,
  `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status)
   select ${id(1)}, ${fleetOf}, 'XYZ' || lpad(n::text, 14, '0'), 'm' || n % 30, now(), 'ELIGIBLE'
   from generate_series(1, 20000) n`,
  recount,
  `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
   select ${id(2)}, ${fleetOf}, ${vehicleOf}, 'n', 'd', 'p' || n % 10, '2026-01-01', '2027-01-01', now()
   from generate_series(1, 5000) n`,
  `insert into import (id, company, fleet_id, state, mode, dry_run, started_at)
   select ${id(3)}, ${fleetOf}, 'COMPLETED', 'partial', false, now() from generate_series(1, 2000) n`,
  `insert into import_rejection (company, import_id, row, value, code, message)
   select 'company ' || n % 100, ('01980003-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'v', 'c', 'm' from generate_series(1, 2000) n`,
  `insert into idempotency_key (company, key, request, created_at)
   select 'company ' || n % 100, 'key ' || n, 'r', now() from generate_series(1, 2000) n`,
  'analyze',
];
