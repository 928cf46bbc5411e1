import { descriptionOf } from '../../core/fields.ts';
import {
  activityCount,
  activityInput,
  activityMost,
  activityUnit,
  type Company,
  company,
  companyActivity,
  getCompany,
} from '../../core/reads/company.ts';
import { historyFilter, historyItem } from '../../core/reads/history.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addList, connectionType, pageArgs } from './connection.ts';
import { enumOf, objectOf } from './described.ts';
import { EventConnection, EventType, typeAsStored } from './events.ts';
import { FleetRef } from './fleets.ts';
import { ImportRef } from './imports.ts';

const ActivityUnit = enumOf('ActivityUnit', activityUnit, 'What activity is counted by.', {
  HOUR: 'Hours of UTC.',
  DAY: 'Days of UTC.',
});

const ActivityCountRef = objectOf('ActivityCount', activityCount, { type: typeAsStored });

/** Any field but `activity` has all totals counted, once. */
type Totals = () => Promise<Company>;
const totals = Object.fromEntries(
  Object.keys(company.shape).map((name) => [
    name,
    { resolve: async (count: Totals) => (await count())[name as keyof Company] },
  ]),
);
const CompanyRef = objectOf('Company', company, totals);

const { from, to, by, fleetId } = activityInput.shape;
builder.objectField(CompanyRef, 'activity', (t) =>
  t.field({
    type: [ActivityCountRef],
    description:
      'How many events of each type each hour or day had, the oldest first; those without any are left out. At most 1,000 hours or days. Errors: VALIDATION_FAILED.',
    extensions: { size: activityMost } satisfies Cost,
    args: {
      from: t.arg({ type: 'DateTime', required: true, description: descriptionOf(from) }),
      to: t.arg({ type: 'DateTime', description: descriptionOf(to) }),
      by: t.arg({ type: ActivityUnit, required: true, defaultValue: 'DAY', description: descriptionOf(by) }),
      fleetId: t.arg.id({ description: descriptionOf(fleetId) }),
    },
    resolve: (_company, asked, { ctx }) => companyActivity(ctx, asked),
  }),
);

builder.queryField('company', (t) =>
  t.field({
    type: CompanyRef,
    description: 'The company of the bearer token: its totals, and how much happened.',
    resolve(_root, _args, { ctx }) {
      let counted: Promise<Company> | undefined;
      return (() => {
        counted ??= getCompany(ctx);
        return counted;
      }) as never;
    },
  }),
);

const HistoryItemRef = objectOf('HistoryItem', historyItem, {
  type: typeAsStored,
  requestId: { type: 'String' },
  importId: {
    name: 'import',
    type: ImportRef,
    description: 'The import, where it is that of a file and still kept.',
    resolve: read,
  },
});
builder.objectField(HistoryItemRef, 'fleet', (t) =>
  t.field({
    type: FleetRef,
    nullable: true,
    description: 'The fleet it is about; null if it is about none, or the fleet is gone.',
    resolve: read,
  }),
);
addList('events', EventConnection, 'Its events, oldest first.', { of: HistoryItemRef });

addList(
  'history',
  connectionType('History', HistoryItemRef),
  'What happened in the company as people see it, the latest first: a file, a list, a move, a contract, or what manufacturers answered in an hour is one item each. Errors: VALIDATION_FAILED.',
  {
    args: builder.args((t) => ({
      ...pageArgs,
      fleetId: t.id({ description: descriptionOf(historyFilter.shape.fleetId) }),
      types: t.field({ type: [EventType], description: 'Only items of one of these types.' }),
    })),
  },
);
