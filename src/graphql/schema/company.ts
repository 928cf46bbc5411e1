import { schemaDescription } from '../../core/fields.ts';
import {
  activityCountSchema,
  activityInput,
  activityUnitSchema,
  companySchema,
  getCompanyActivity,
  mostActivityCounts,
} from '../../core/reads/company.ts';
import { historyFilterSchema, historyItemSchema } from '../../core/reads/history.ts';
import { schemaBuilder } from './builder.ts';
import { addListField, connectionType, pageArgs } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import { EventConnectionRef, EventTypeRef, eventTypeOverride } from './events.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { ImportRef } from './imports.ts';
import { resolvePlannedField } from './planned.ts';

const ActivityUnit = enumTypeOf('ActivityUnit', activityUnitSchema, 'What activity is counted by.', {
  HOUR: 'Hours of UTC.',
  DAY: 'Days of UTC.',
});

const ActivityCountRef = objectTypeOf('ActivityCount', activityCountSchema, { type: eventTypeOverride });

const totals = Object.fromEntries(
  Object.keys(companySchema.shape).map((name) => [
    name,
    { resolve: (_company: object, _args: object, { reads }: GraphqlContext) => reads.companyMember(name) },
  ]),
);
const CompanyRef = objectTypeOf('Company', companySchema, totals);

const { from, to, by, fleetId } = activityInput.shape;
schemaBuilder.objectField(CompanyRef, 'activity', (t) =>
  t.field({
    type: [ActivityCountRef],
    description:
      'How many events of each type each hour or day had, the oldest first; those without any are left out. At most 1,000 hours or days. Errors: VALIDATION_FAILED.',
    extensions: { size: mostActivityCounts } satisfies CostExtension,
    args: {
      from: t.arg({ type: 'DateTime', required: true, description: schemaDescription(from) }),
      to: t.arg({ type: 'DateTime', description: schemaDescription(to) }),
      by: t.arg({ type: ActivityUnit, required: true, defaultValue: 'DAY', description: schemaDescription(by) }),
      fleetId: t.arg.id({ description: schemaDescription(fleetId) }),
    },
    resolve: (_company, asked, { ctx }) => getCompanyActivity(ctx, asked),
  }),
);

schemaBuilder.queryField('company', (t) =>
  t.field({
    type: CompanyRef,
    description: 'The company of the bearer token: its totals, and how much happened.',
    resolve: () => ({}) as never,
  }),
);

const HistoryItemRef = objectTypeOf('HistoryItem', historyItemSchema, {
  type: eventTypeOverride,
  requestId: { type: 'String' },
  importId: {
    name: 'import',
    type: ImportRef,
    description: 'The import, where it is that of a file and still kept.',
    resolve: resolvePlannedField,
  },
});
schemaBuilder.objectField(HistoryItemRef, 'fleet', (t) =>
  t.field({
    type: FleetRef,
    nullable: true,
    description: 'The fleet it is about; null if it is about none, or the fleet is gone.',
    resolve: resolvePlannedField,
  }),
);
addListField('events', EventConnectionRef, 'Its events, oldest first.', { of: HistoryItemRef });

addListField(
  'history',
  connectionType('History', HistoryItemRef),
  'What happened in the company as people see it, the latest first: a file, a list, a move, a contract, or what manufacturers answered in an hour is one item each. Errors: VALIDATION_FAILED.',
  {
    args: schemaBuilder.args((t) => ({
      ...pageArgs,
      fleetId: t.id({ description: schemaDescription(historyFilterSchema.shape.fleetId) }),
      types: t.field({ type: [EventTypeRef], description: 'Only items of one of these types.' }),
    })),
  },
);
