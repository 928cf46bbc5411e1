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
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { enumOf, objectOf } from './described.ts';
import { typeAsStored } from './events.ts';

const ActivityUnit = enumOf('ActivityUnit', activityUnit, 'What activity is counted by.', {
  HOUR: 'Hours of UTC.',
  DAY: 'Days of UTC.',
});

const ActivityCountRef = objectOf('ActivityCount', activityCount, { type: typeAsStored });

/** All totals are counted where any field but `activity` is asked for. */
type Totals = () => Promise<Company>;
const totals = Object.fromEntries(
  Object.keys(company.shape).map((name) => [
    name,
    { resolve: async (read: Totals) => (await read())[name as keyof Company] },
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
      let read: Promise<Company> | undefined;
      return (() => {
        read ??= getCompany(ctx);
        return read;
      }) as never;
    },
  }),
);
