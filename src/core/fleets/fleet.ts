import { type Expression, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import type { CommandDescription } from '../context.ts';
import { describeInputFields, exampleIds, field, timeField, uuidField } from '../fields.ts';
import { emailSchema, idSchema, storableText, textSchema } from '../input.ts';
import type { IndexSeek } from '../sql/list-description.ts';
import type { SortOrders } from '../sql/order.ts';
import type { Resource } from '../sql/resource.ts';
import { db } from '../sql/sql.ts';

export const fleetSchema = z
  .object({
    id: uuidField('The id of the fleet, a UUID: the same in GraphQL and REST.', exampleIds.fleet),
    company: field(z.string(), 'The name of the company that owns the fleet, from the token of its creator.', 'acme'),
    name: field(z.string(), 'The name of the fleet. Several fleets may share one.', 'Berlin vans'),
    companyAddress: field(z.string(), 'The postal address of the fleet’s company.', '1 Main Street, 10115 Berlin'),
    email: field(z.string(), 'The e-mail address of the person responsible for the fleet.', 'fleet@example.com'),
    vat: field(z.string(), 'The VAT number of the fleet’s company. Its format is not checked.', 'DE123456789'),
    vehicleCount: field(z.int(), 'The number of vehicles in the fleet.', 2),
    createdAt: timeField('The time at which the fleet was created.'),
    updatedAt: timeField('The time of the last change to the fleet’s own fields; changes to vehicles do not count.'),
  })
  .meta({
    id: 'Fleet',
    description:
      'A named group of vehicles of one company, such as those of a depot. A vehicle is in one fleet at a time.',
  });
export type Fleet = z.output<typeof fleetSchema>;

const counted = (meaning: string, example: number) => field(z.int(), meaning, example);
export const eligibilitySummarySchema = z
  .object({
    pending: counted('The number of vehicles of eligibility `PENDING`: the manufacturer has not answered yet.', 1),
    eligible: counted('The number of vehicles of eligibility `ELIGIBLE`: the manufacturer can deliver their data.', 12),
    ineligible: counted('The number of vehicles of eligibility `INELIGIBLE`: the manufacturer cannot deliver data.', 3),
    unsupported: counted('The number of vehicles of eligibility `UNSUPPORTED`: no provider answers for them.', 0),
    failed: counted('The number of vehicles of eligibility `FAILED`: no answer before the party in `reason` acts.', 2),
  })
  .meta({ id: 'EligibilitySummary', description: 'The number of vehicles by status of connected-data eligibility.' });

export const createFleetInput = z
  .object(
    describeInputFields(fleetSchema, {
      name: textSchema(255),
      companyAddress: textSchema(255),
      email: emailSchema,
      vat: textSchema(255),
    }),
  )
  .meta({
    description:
      'The fields of a new fleet. Texts are trimmed and must have 1 to 255 characters, the e-mail address at most 254.',
  });

export const updateFleetInput = z
  .object({ id: idSchema.describe('The id of the fleet to change.'), ...createFleetInput.partial().shape })
  .meta({
    description:
      'The fields of a fleet to change: at least one beside `id`. Fields that are left out stay as they are; texts follow the rules for a new fleet.',
  });

export const fleetCommands = {
  createFleet: {
    description: 'Creates a fleet, which belongs to the company of the token.',
    scope: 'fleets:write',
    errors: ['VALIDATION_FAILED'],
    example: {
      ...{ name: 'Munich', companyAddress: 'Street 1, 80331 Munich' },
      ...{ email: 'fleet@example.com', vat: 'DE123456789' },
    },
  },
  updateFleet: {
    description: 'Changes the fields of a fleet that are sent, at least one. The others stay as they are.',
    scope: 'fleets:write',
    errors: ['FLEET_NOT_FOUND', 'VALIDATION_FAILED'],
    example: { id: exampleIds.fleet, name: 'Berlin and Potsdam' },
  },
  deleteFleet: {
    description: 'Deletes a fleet with its vehicles and contracts, which the gateway also ends at the manufacturer.',
    scope: 'fleets:write',
    errors: ['FLEET_NOT_FOUND'],
    example: { id: exampleIds.fleet },
  },
} satisfies Record<string, CommandDescription>;

export const fleetFilterSchema = z
  .object({
    name: storableText(z.string().max(255))
      // An empty text is a part of every name, so it filters nothing.
      .transform((value) => value.trim() || null)
      .nullish()
      .describe('A text in the name of the fleet, regardless of case and accents.'),
    vat: storableText(z.string().max(255)).nullish().describe('The VAT number of the fleet, exactly.'),
  })
  .meta({ description: 'Conditions on the fleets of a list. A fleet is listed if it meets all that are given.' });

export const fleetSortOrders = {
  CREATED_AT: { meaning: 'The time at which the fleet was created.' },
  NAME: {
    meaning: 'The name of the fleet, by code points: capitals come before small letters.',
    by: { column: 'name', kind: 'text' },
  },
  VEHICLE_COUNT: {
    meaning: 'The number of vehicles in the fleet, its `vehicleCount`.',
    by: { column: 'vehicle_count', kind: 'number' },
  },
  ATTENTION_COUNT: {
    meaning:
      'The number of vehicles in the fleet that share no data: `INELIGIBLE`, `UNSUPPORTED` and `FAILED`, as GraphQL’s `eligibilitySummary` counts them.',
    by: { column: 'attention_count', kind: 'number' },
  },
} as const satisfies SortOrders;

// A large deleted fleet is hidden at once; its rows are deleted in steps (core/operations/delete-fleets.ts).

/** The company's deleted fleets, looked up once for a statement. */
const deleted = (company: string | Expression<string>) => {
  const gone = db.selectFrom('fleet as gone').select('gone.id').where('gone.company', '=', company);
  return sql<string[]>`array(${gone.where('gone.deletion', 'is not', null)})`;
};

/**
 * The condition for rows of fleets that are not deleted, in statements of one company. Without `coalesce`, the planner expects
 * hardly any such row.
 */
export const fleetExistsExpression = (row: string, company: string | Expression<string>) =>
  sql<SqlBool>`coalesce(${sql.ref(`${row}.fleet_id`)} <> all(${deleted(company)}), true)`;

const OWN = sql.raw<string>('$company');
export const fleetExistsSql = (row: string): string => fleetExistsExpression(row, OWN).compile(db).sql;

/** The conditions of a resource for rows of fleets that are not deleted. */
export const existingFleetConditions = (row: string): Pick<Resource, 'where' | 'whereForAll'> => ({
  where: fleetExistsSql(row),
  whereForAll: sql`${deleted(OWN)} = '{}'`.compile(db).sql,
});

/** Rows of several fleets, by the index (company, fleet_id, id). */
export const ofFleets = (row: string): IndexSeek => ({
  by: 'fleetIds',
  finds: [
    {
      each: 'unnest(?::uuid[])',
      where: { fleetIds: `${row}.fleet_id >= one.of and ${row}.fleet_id <= one.of` },
      order: `${row}.fleet_id, ${row}.id`,
    },
  ],
});
