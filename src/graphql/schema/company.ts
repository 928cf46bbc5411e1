import { schemaDescription } from '../../core/fields.ts';
import {
  activityCountSchema,
  activityInput,
  activityUnitSchema,
  companySchema,
  contractReasonCountSchema,
  contractSummarySchema,
  getCompanyActivity,
  MOST_REASON_COUNTS,
  mostActivityCounts,
} from '../../core/reads/company.ts';
import { historyItemSchema } from '../../core/reads/history.ts';
import { schemaBuilder } from './builder.ts';
import { addListField, addReadField, connectionType, pageArgs } from './connection.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import { EventConnectionRef, EventTypeRef, eventTypeOverride } from './events.ts';
import { FleetRef } from './fleets.ts';
import { type CostExtension, type GraphqlContext, resolvePlannedField } from './graphql-context.ts';
import { ImportRef } from './imports.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { ReasonCodeRef } from './reason.ts';

const ActivityUnit = enumTypeOf('ActivityUnit', activityUnitSchema, 'The unit of time by which events are counted.', {
  HOUR: 'Events are counted by the hour, from minute 0 on.',
  DAY: 'Events are counted by the day, from midnight UTC on.',
});

const ActivityCountRef = objectTypeOf('ActivityCount', activityCountSchema, { type: eventTypeOverride });

const totals = Object.fromEntries(
  Object.keys(companySchema.shape).map((name) => [
    name,
    { resolve: (_company: object, _args: object, { reads }: GraphqlContext) => reads.companyMember(name) },
  ]),
);
objectTypeOf('ContractReasonCount', contractReasonCountSchema, { reason: { type: ReasonCodeRef } });
objectTypeOf('ContractSummary', contractSummarySchema, {
  byReason: { extensions: { size: MOST_REASON_COUNTS } satisfies CostExtension },
});
const CompanyRef = objectTypeOf('Company', companySchema, totals);

const { from, to, by, fleetId } = activityInput.shape;
schemaBuilder.objectField(CompanyRef, 'activity', (t) =>
  t.field({
    type: [ActivityCountRef],
    description:
      'The number of the company’s events of each type in each hour or day, the oldest first. Hours and days without events are left out. A period of more than 1,000 hours or days fails with VALIDATION_FAILED.',
    extensions: { size: mostActivityCounts } satisfies CostExtension,
    args: {
      from: t.arg({ type: 'DateTime', required: true, description: schemaDescription(from) }),
      to: t.arg({ type: 'DateTime', description: schemaDescription(to) }),
      by: t.arg({ type: ActivityUnit, required: true, defaultValue: 'DAY', description: schemaDescription(by) }),
      fleetId: t.arg.id({ description: schemaDescription(fleetId) }),
    },
    resolve: async (_company, asked, { ctx }) => JSON.parse(await getCompanyActivity(ctx, asked)),
  }),
);

schemaBuilder.queryField('company', (t) =>
  t.field({
    type: CompanyRef,
    description: 'Returns the company of the bearer token, with its totals and its numbers of events over time.',
    resolve: () => ({}) as never,
  }),
);

const HistoryItemRef = objectTypeOf('HistoryItem', historyItemSchema, {
  type: eventTypeOverride,
  requestId: { type: 'String' },
  manufacturer: manufacturerOverride,
  importId: {
    name: 'import',
    type: ImportRef,
    description: 'The import that the history item reports; null for other items, and once it is no longer kept.',
    resolve: resolvePlannedField,
  },
});
const ofItem = 'The fleet that the history item is about; null if it is about none, or the fleet has been deleted.';
addReadField('fleet', FleetRef, ofItem, { of: HistoryItemRef, nullable: true });
addListField('events', EventConnectionRef, 'The events of the history item, oldest first.', { of: HistoryItemRef });

addListField(
  'history',
  connectionType('History', HistoryItemRef, 'history items'),
  'Lists the history of the company for people, the latest first. All events of one request about one fleet are one item, as are all of one type that the gateway itself caused there within an hour, such as the manufacturers’ answers.',
  {
    args: schemaBuilder.args((t) => ({
      ...pageArgs,
      fleetId: t.id({ description: 'The id of the fleet that the history items are about, itself or its vehicles.' }),
      types: t.field({ type: [EventTypeRef], description: 'The types of events whose history items are listed.' }),
    })),
  },
);
