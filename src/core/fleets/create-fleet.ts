import { type Insertable, sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { knowCompany } from '../events/log.ts';
import { announceEvents, type By, byCaller, recording } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { prepare } from '../sql/prepare.ts';
import { append } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { createFleetInput, type Fleet } from './fleet.ts';

/** Stores a new fleet of the caller's company; throws ValidationFailed with every wrong field. */
export async function createFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createFleetInput, input);
  const by = byCaller(ctx);
  const made: Fleet = { id: newId(), company, ...fields, vehicleCount: 0, createdAt: by.at, updatedAt: by.at };
  const { id, name, companyAddress: company_address, email, vat } = made;
  const row = { id, company, name, company_address, email, vat };
  await insertFleet(append(ctx), { ...row, ...by, data: JSON.stringify(fields) });
  announceEvents(ctx);
  return made;
}

type NewFleet = Pick<Insertable<Tables['fleet']>, 'id' | 'company' | 'name' | 'company_address' | 'email' | 'vat'> &
  By & { data: string };

// One statement is a transaction by itself: a unit of work would take four round trips for the fleet and its event.
const insertFleet = prepare((p: NewFleet) => {
  const { id, company, name, company_address, email, vat } = p;
  const steps = db
    .with('made', (q) =>
      q
        .insertInto('fleet')
        .values({ id, company, name, company_address, email, vat, created_at: p.at, updated_at: p.at }),
    )
    .with('known', knowCompany(company));
  const fact = db.selectNoFrom([
    sql<string>`${company}::text`.as('company'),
    sql<string>`${id}::uuid`.as('fleet_id'),
    sql<null>`null::uuid`.as('contract_id'),
    sql<string[]>`'{}'::uuid[]`.as('vehicle_ids'),
    sql<string[]>`'{}'::text[]`.as('vins'),
    sql`${p.data}::jsonb`.as('data'),
  ]);
  return recording(steps, p, { 'fleet.created': fact });
});
