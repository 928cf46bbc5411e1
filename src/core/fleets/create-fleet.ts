import { type Selectable, sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { knowCompany } from '../events/log.ts';
import { announceEvents, type By, byCaller } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { prepare } from '../sql/prepare.ts';
import { newId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { together } from '../sql/together.ts';
import { createFleetInput, type Fleet } from './fleet.ts';

/** Stores a new fleet of the caller's company; throws ValidationFailed with every wrong field. */
export async function createFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createFleetInput, input);
  const by = byCaller(ctx);
  const made: Fleet = { id: newId(), company, ...fields, vehicleCount: 0, createdAt: by.at, updatedAt: by.at };
  const { id, name, companyAddress: company_address, email, vat } = made;
  await addFleet(ctx, company, { id, name, company_address, email, vat, ...by, data: fields });
  announceEvents(ctx);
  return made;
}

const rowColumns = ['id', 'name', 'company_address', 'email', 'vat'] as const;
type NewFleet = Pick<Selectable<Tables['fleet']>, (typeof rowColumns)[number]> & By & { data: object };

// One statement is a transaction by itself: a flush within one, and the event after it, are four ways to the database.
const insertFleets = prepare((p: { company: string; rows: string }) =>
  db
    .with('new', (q) =>
      q
        .selectFrom(
          sql<NewFleet>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(id uuid, name text, company_address text, email text, vat text, actor text, request_id text, at timestamptz, data jsonb)`,
          ),
        )
        .selectAll(),
    )
    .with('made', (q) =>
      q
        .insertInto('fleet')
        .columns(['company', ...rowColumns, 'created_at', 'updated_at'])
        .expression((from) =>
          from
            .selectFrom('new')
            .select(({ cast, val }) => [
              cast<string>(val(p.company), 'text').as('company'),
              ...rowColumns,
              'at as created_at',
              'at as updated_at',
            ]),
        ),
    )
    .with('known', knowCompany(p.company))
    .insertInto('event')
    .columns(['type', 'company', 'fleet_id', 'actor', 'request_id', 'at', 'data'])
    .expression((from) =>
      from
        .selectFrom('new')
        .select(({ cast, val }) => [
          cast<string>(val('fleet.created'), 'text').as('type'),
          cast<string>(val(p.company), 'text').as('company'),
          'id as fleet_id',
          ...(['actor', 'request_id', 'at', 'data'] as const),
        ]),
    ),
);

const addFleet = together<NewFleet>((send, company, rows) =>
  insertFleets(send, { company, rows: JSON.stringify(rows) }),
);
