import { type Expression, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import { describeInputFields, exampleIds, field, timeField, uuidField } from '../fields.ts';
import { emailSchema, idSchema, storableText, textSchema } from '../input.ts';
import type { SortOrders } from '../sql/order.ts';
import type { Resource } from '../sql/resource.ts';

export const fleetSchema = z
  .object({
    id: uuidField('Identifies the fleet: the same in both interfaces.', exampleIds.fleet),
    company: field(z.string(), 'The company it belongs to: the one of the token that created it.', 'acme'),
    name: field(z.string(), 'Any name; several fleets may share one.', 'Berlin vans'),
    companyAddress: field(z.string(), 'The postal address of the company.', '1 Main Street, 10115 Berlin'),
    email: field(z.string(), 'Who answers for the fleet: an e-mail address, in any script.', 'fleet@example.com'),
    vat: field(z.string(), 'The VAT number of the company.', 'DE123456789'),
    vehicleCount: field(z.int(), 'How many vehicles it has.', 2),
    createdAt: timeField('When it was created.'),
    updatedAt: timeField('When its own fields were last changed.'),
  })
  .meta({ id: 'Fleet', description: 'A group of vehicles of one company.' });
export type Fleet = z.output<typeof fleetSchema>;

const counted = (meaning: string, example: number) => field(z.int(), meaning, example);
export const eligibilitySummarySchema = z
  .object({
    pending: counted('Vehicles without an answer yet.', 1),
    eligible: counted('Vehicles whose data can be had.', 12),
    ineligible: counted('Vehicles whose data cannot be had.', 3),
    unsupported: counted('Vehicles nobody can be asked about.', 0),
    failed: counted('Vehicles whose verification needs somebody to act.', 2),
  })
  .meta({ id: 'EligibilitySummary', description: 'How many vehicles have each status.' });

export const createFleetInput = z
  .object(
    describeInputFields(fleetSchema, {
      name: textSchema(255),
      companyAddress: textSchema(255),
      email: emailSchema,
      vat: textSchema(255),
    }),
  )
  .meta({ description: 'A new fleet. Each text is trimmed and has 1 to 255 characters.' });

export const updateFleetInput = z
  .object({ id: idSchema.describe('Which fleet.'), ...createFleetInput.partial().shape })
  .meta({ description: 'What to change of a fleet: at least one field beside its id. Texts are as for a new fleet.' });

export const fleetFilterSchema = z
  .object({
    name: storableText(z.string().max(255))
      // An empty text is a part of every name, so it filters nothing.
      .transform((value) => value.trim() || null)
      .nullish()
      .describe('Whose name has this in it, whatever the case and accents.'),
    vat: storableText(z.string().max(255)).nullish().describe('With this VAT number.'),
  })
  .meta({ description: 'Which fleets: those that fit everything that is given.' });

export const fleetSortOrders = {
  CREATED_AT: { meaning: 'When they were created.' },
  NAME: { meaning: 'Their names, by code points: capitals come first.', by: { column: 'name', kind: 'text' } },
} as const satisfies SortOrders;

// A large deleted fleet is hidden at once; its rows are deleted in steps (core/operations/delete-fleets.ts).

/** The company's deleted fleets, looked up once for a statement. */
const deleted = (company: string) =>
  `array(select gone.id from fleet gone where gone.company = ${company} and gone.deletion is not null)`;

/** The condition that a row's fleet is not deleted. Without `coalesce`, the planner expects hardly any such row. */
const isThere = (row: string, company: string) => `coalesce(${row}.fleet_id <> all(${deleted(company)}), true)`;

export const fleetExistsSql = (row: string): string => isThere(row, '$company');

/** The condition for rows of fleets that are not deleted, in statements of one company. */
export function fleetExistsExpression(row: string, company: string | Expression<string>) {
  const [before, after] = isThere(row, '?').split('?') as [string, string];
  return sql<SqlBool>`${sql.raw(before)}${company}${sql.raw(after)}`;
}

/** The conditions of a resource for rows of fleets that are not deleted. */
export const existingFleetConditions = (row: string): Pick<Resource, 'where' | 'whereForAll'> => ({
  where: fleetExistsSql(row),
  whereForAll: `${deleted('$company')} = '{}'`,
});
