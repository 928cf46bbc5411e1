const functionOf = (name: string, body: string) => `
  create or replace function ${name}() returns trigger language plpgsql as $$
  begin
    ${body}
  end $$`;

/** The functions that count vehicles and take them along with their fleet; before the company was part of every key, without it. */
export function countingFunctions({ byCompany }: { byCompany: boolean }): string[] {
  const own = byCompany ? 'company, ' : '';
  const counted = byCompany ? 'changes.company, ' : '';
  const sameCompany = (one: string, other: string) => (byCompany ? `${one}.company = ${other}.company and ` : '');
  const plus = `select ${own}fleet_id, status, 1 as delta from added`;
  const minus = `select ${own}fleet_id, status, -1 as delta from removed`;
  // The fleet itself may be on its way out, and its vehicles with it.
  const guard = `where exists (select from fleet f where ${sameCompany('f', 'changes')}f.id = changes.fleet_id)`;
  const tallies = Object.entries({
    insert: `(${plus}) changes`,
    delete: `(${minus}) changes ${guard}`,
    update: `(${plus} union all ${minus}) changes`,
  }).map(([event, changes]) =>
    functionOf(
      `vehicle_tally_${event}`,
      `insert into vehicle_tally (${own}fleet_id, status, delta)
      select ${counted}changes.fleet_id, changes.status, sum(changes.delta)::int
      from ${changes}
      group by ${counted}changes.fleet_id, changes.status having sum(changes.delta) <> 0;
      return null;`,
    ),
  );
  const vehicles = `delete from vehicle where ${sameCompany('vehicle', 'old')}fleet_id = old.id;
    return null;`;
  return [...tallies, functionOf('fleet_vehicles_delete', vehicles)];
}

const companyOf = (parent: string) =>
  functionOf(
    `company_of_${parent}`,
    `new.company := coalesce((select p.company from ${parent} p where p.id = new.${parent}_id), '');
    return new;`,
  );
const companyOfParent = (table: string, parent: string) => `create trigger company_of_${parent}
  before insert or update on ${table} for each row when (new.company is null) execute function company_of_${parent}()`;
const vehicleTally = (event: string, tables: string) => `create trigger vehicle_tally_${event}
  after ${event} on vehicle referencing ${tables} for each statement execute function vehicle_tally_${event}()`;
const companyInsert = (table: string) => `create trigger company_insert
  after insert on ${table} for each row execute function company_insert()`;

/** Everything that statements do since there are no triggers. */
export const allTriggers: readonly string[] = [
  ...countingFunctions({ byCompany: true }),
  functionOf(
    'company_insert',
    `insert into company (company) values (new.company) on conflict do nothing;
    return null;`,
  ),
  ...['fleet', 'import', 'webhook'].map(companyOf),
  vehicleTally('insert', 'new table as added'),
  vehicleTally('delete', 'old table as removed'),
  vehicleTally('update', 'old table as removed new table as added'),
  `create trigger fleet_vehicles_delete after delete on fleet for each row execute function fleet_vehicles_delete()`,
  ...['fleet', 'webhook'].map(companyInsert),
  companyOfParent('vehicle_tally', 'fleet'),
  companyOfParent('import_batch', 'import'),
  companyOfParent('import_rejection', 'import'),
  companyOfParent('delivery', 'webhook'),
];
