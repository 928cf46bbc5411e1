import { sql } from 'kysely';
import { z } from 'zod';
import {
  type ActivationState,
  activationActorSql,
  activationReasonSql,
  activationStateSchema,
  activationStateSql,
  activationStates,
} from '../activation/activation.ts';
import { authorize, type Context, contextOfNewestRead, hasScope } from '../context.ts';
import { NotFound, ValidationFailed } from '../errors.ts';
import { eventTypes } from '../events/event-data.ts';
import { CONTRACT_EVENTS_ACCESS, eventSchema } from '../events/events.ts';
import { field, timeField } from '../fields.ts';
import { eligibilitySummarySchema, fleetExistsSql } from '../fleets/fleet.ts';
import { eligibilitySummaryJson, tallySumsSql } from '../fleets/fleets.ts';
import { readInput, timeSchema } from '../input.ts';
import { actorSchema, reasonCodeSchema } from '../reason.ts';
import { MOST_COUNTED_ROWS } from '../sql/page.ts';
import { jsonRowWriter, readOneRowText } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoTimeExpression, jsonSql } from '../sql/selection.ts';
import { asTimestamptz, db, prepareStatementVariants } from '../sql/sql.ts';

const MOST = MOST_COUNTED_ROWS.toLocaleString('en');

const summaryOf = Object.fromEntries(
  activationStates.map((state) => [
    state.toLowerCase(),
    field(z.int(), `The number of contracts in the state ${state} at the manufacturer, counted up to ${MOST}.`, 3),
  ]),
) as Record<Lowercase<ActivationState>, z.ZodInt>;

export const contractReasonCountSchema = z
  .object({
    state: field(activationStateSchema, 'The state of the counted contracts at the manufacturer.', 'REJECTED'),
    reason: field(reasonCodeSchema, 'The code of the reason for the state.', 'ACTIVATION_REJECTED'),
    actor: field(actorSchema, 'The party that must act before the reason no longer holds.', 'MANUFACTURER'),
    count: field(
      z.int(),
      `The number of contracts in the state for the reason, counted up to ${MOST} in each state.`,
      3,
    ),
  })
  .meta({
    id: 'ContractReasonCount',
    description:
      'The number of the company’s contracts in one state at the manufacturer for one reason, with the party that must act.',
  });
/** Reasons that the states of contracts may have; an active one has none that matters. */
const REASONED = ['PENDING', 'REJECTED', 'FAILED', 'ENDING', 'UNSUPPORTED'] as const;
export const MOST_REASON_COUNTS = REASONED.length * reasonCodeSchema.options.length;

export const contractSummarySchema = z
  .object({
    ...summaryOf,
    byReason: z
      .array(contractReasonCountSchema)
      .describe('The number of contracts by state and reason, without those that are active or have no reason.'),
  })
  .meta({ id: 'ContractSummary', description: 'The number of the company’s contracts by state at the manufacturer.' });

export const companySchema = z
  .object({
    id: field(z.string(), 'The name of the company, as in its bearer tokens, which is also its id.', 'acme'),
    fleetCount: field(z.int(), `The number of fleets of the company, counted up to ${MOST}.`, 3),
    vehicleCount: field(z.int(), 'The number of vehicles in all fleets of the company.', 18),
    contractCount: field(
      z.int().nullable(),
      `The number of contracts of the company, counted up to ${MOST}; null if the token lacks the scope \`contracts:read\`.`,
      12,
    ),
    eligibilitySummary: eligibilitySummarySchema.describe('The number of the company’s vehicles by their eligibility.'),
    contractSummary: contractSummarySchema
      .nullable()
      .describe('The number of the company’s contracts by state at the manufacturer; null without `contracts:read`.'),
  })
  .meta({ id: 'Company', description: 'The company of the bearer token, with its totals of vehicles and contracts.' });
type Company = z.output<typeof companySchema>;

const TALLIES = `vehicle_tally t where t.company = $company and ${fleetExistsSql('t')}`;
const FLEETS = 'fleet f where f.company = $company and f.deletion is null';
const CONTRACTS = `contract c where c.company = $company and ${fleetExistsSql('c')}`;

const countUpTo = (rows: string) =>
  jsonSql.number(`(select count(*) from (select from ${rows} limit ${MOST_COUNTED_ROWS}) counted)`);

/** The condition on the stored state lets an index find the rows; the clock decides about few of them. */
const inState = (state: ActivationState) => {
  const stored = { SCHEDULED: '', ENDED: `c.activation in ('ENDED', 'OFF', 'UNSUPPORTED') and` };
  const own = stored[state as 'ENDED'] ?? `c.activation = '${state}' and`;
  return `contract c cross join (select $now::timestamptz as now) clock
    where c.company = $company and ${own} ${activationStateSql} = '${state}' and ${fleetExistsSql('c')}`;
};

const countsByReason = REASONED.map(
  (state) =>
    `(select '${state}' as state, ${activationReasonSql} as code, ${activationActorSql} as actor from ${inState(state)} limit ${MOST_COUNTED_ROWS})`,
);
const BY_REASON = `(select coalesce(json_agg(json_build_object('state', g.state, 'reason', g.code, 'actor', g.actor, 'count', g.rows)
  order by g.state, g.code, g.actor), '[]') from (select state, code, actor, count(*) as rows from (${countsByReason.join(' union all ')}) one
  where code is not null group by state, code, actor) g)`;

const companyRows: Resource = {
  table: '(select $company::text as company, $company::text as id) co',
  id: 'co.id',
  lookups: { counts: `cross join lateral (select ${tallySumsSql} from ${TALLIES}) counts` },
  members: {
    id: jsonSql.text('co.id'),
    fleetCount: countUpTo(FLEETS),
    vehicleCount: jsonSql.number('counts.total'),
    contractCount: countUpTo(CONTRACTS),
    eligibilitySummary: eligibilitySummaryJson('counts'),
    contractSummary: {
      ...Object.fromEntries(activationStates.map((state) => [state.toLowerCase(), countUpTo(`${inState(state)}`)])),
      byReason: { sql: BY_REASON },
    },
  },
  conditions: {},
  missing: () => new NotFound('There is no company.'),
};

/** The company with these of its members. */
export async function getCompany(
  ctx: Context,
  names: readonly string[] = Object.keys(companySchema.shape),
): Promise<Partial<Company>> {
  const options = { company: authorize(ctx, 'fleets:read'), searches: true };
  const shape = Object.entries(companySchema.shape).filter(([name]) => names.includes(name));
  const asJson = jsonRowWriter(companyRows.members, z.object(Object.fromEntries(shape)));
  const found: Partial<Company> = JSON.parse(await readOneRowText(ctx, companyRows, asJson, {}, options));
  return hasScope(ctx, CONTRACT_EVENTS_ACCESS.scope) ? found : { ...found, contractCount: null, contractSummary: null };
}

export const activityUnitSchema = z.enum(['HOUR', 'DAY']);
const LENGTH_MS = { HOUR: 3_600_000, DAY: 86_400_000 } as const;
const MOST_UNITS = 1000;

export const activityInput = z
  .object({
    from: timeSchema.describe('The start of the counted period: the hour or day (UTC) of this time.'),
    to: timeSchema.nullish().describe('The end of the counted period (exclusive), by default now.'),
    by: activityUnitSchema.default('DAY').describe('The unit by which events are counted: hours or days of UTC.'),
    fleetId: z
      .string()
      .nullish()
      .describe('The id of the fleet that the counted events are about, itself or its vehicles.'),
  })
  .refine(({ from, to }) => !to || from < to, { path: ['to'], message: 'must be later than from' });

/** The beginning of the first hour or day, and their number; the last one may be a part. */
function unitsOf({ from, to, by }: z.output<typeof activityInput>, now: Date) {
  const start = Math.floor(from.getTime() / LENGTH_MS[by]) * LENGTH_MS[by];
  const until = to ?? now;
  return { start: new Date(start), until, units: Math.max(0, (until.getTime() - start) / LENGTH_MS[by]) };
}

/** The most objects of an answer of getCompanyActivity; 0 where it is refused. */
export function mostActivityCounts(input: unknown): number {
  const { data } = activityInput.safeParse(input);
  return data ? Math.ceil(Math.min(unitsOf(data, new Date()).units, MOST_UNITS)) * eventTypes.length : 0;
}

export const activityCountSchema = z
  .object({
    from: timeField('The start of the hour or day in which events are counted, in UTC.', '2026-11-20T00:00:00.000Z'),
    type: eventSchema.shape.type.describe('The type of the events that are counted.'),
    count: field(z.int(), 'The number of events of one type in one hour or day.', 4),
    vehicleCount: field(z.int(), 'The number of vehicles of the events counted; one in two counts twice.', 2970),
  })
  .meta({ id: 'ActivityCount', description: 'The number of the company’s events of one type in one hour or day.' });

/** The number of events of each type by hour or day, at most 1,000 of these, as JSON; throws ValidationFailed. */
export async function getCompanyActivity(ctx: Context, input: unknown): Promise<string> {
  const company = authorize(ctx, 'fleets:read');
  const given = readInput(activityInput, input);
  const { by, fleetId } = given;
  const { start, until, units } = unitsOf(given, ctx.now());
  if (units > MOST_UNITS) {
    const message = `must be at most ${MOST_UNITS.toLocaleString('en')} ${by === 'HOUR' ? 'hours' : 'days'} before the end`;
    throw new ValidationFailed([{ path: 'from', code: 'TOO_SMALL', message }]);
  }
  if (fleetId != null && idOrNull(fleetId) === null) return '[]';
  const contracts = hasScope(ctx, CONTRACT_EVENTS_ACCESS.scope);
  const counted = { company, start, until, by, fleetId, contracts };
  const [row] = await readActivity(contextOfNewestRead(ctx), counted, 'search');
  return `[${row?.text ?? ''}]`;
}

/** The hour or day is written once for all of its counts, where the line breaks are: neither is dear for thousands of counts. */
const readActivity = prepareStatementVariants<{
  company: string;
  start: Date;
  until: Date;
  by: z.output<typeof activityUnitSchema>;
  fleetId: string | null | undefined;
  contracts: boolean;
}>()(['fleetId'], (p, has) => {
  const counts = db
    .selectFrom('activity')
    .select([
      sql<string>`date_trunc(${p.by}::text, hour, 'UTC')`.as('unit'),
      sql<string>`type collate "C"`.as('type'),
      sql<number>`sum(events)`.as('events'),
      sql<number>`sum(vehicles)`.as('vehicles'),
    ])
    .where('company', '=', p.company)
    .where('hour', '>=', asTimestamptz(p.start))
    .where('hour', '<', asTimestamptz(p.until))
    .where(sql<boolean>`(${p.contracts}::boolean or type not like 'contract.%')`)
    .$if(has.fleetId, (of) => of.where('fleet_id', '=', p.fleetId))
    // By position: each `by` is another parameter, so PostgreSQL would see different expressions.
    .groupBy(sql`1, 2`);
  const count = sql`'"type":"' || type || '","count":' || events || ',"vehicleCount":' || vehicles || '}'`;
  const units = db
    .selectFrom(counts.as('a'))
    .select([
      'unit',
      sql<string>`'{"from":"' || ${isoTimeExpression(sql<string>`unit`)} || '",'`.as('from'),
      sql<string>`string_agg(${count}, e'\n' order by type)`.as('counts'),
    ])
    .groupBy('unit');
  const text = sql<string | null>`string_agg("from" || replace(counts, e'\n', ',' || "from"), ',' order by unit)`;
  return db.selectFrom(units.as('u')).select(text.as('text'));
});
