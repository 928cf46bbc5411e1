import { z } from 'zod';
import { activityCountSchema, companySchema, getCompany, getCompanyActivity } from '../core/reads/company.ts';
import { historyItemSchema, historyResource, listHistory } from '../core/reads/history.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { readEventTypes } from './events.ts';
import { listAnswer, listOf, readQuery } from './list.ts';
import { operations } from './route.ts';

const asJson = jsonRowWriter(historyResource.members, historyItemSchema);

const { get } = operations('Company');

export const companyRoutes = [
  get('/company', 'getCompany', {
    summary: 'Get your company',
    description: 'Returns the company of the token with its totals.',
    answers: { 200: { description: 'The company of the token.', schema: companySchema } },
    result: (ctx) => getCompany(ctx),
  }),
  get('/company/activity', 'getActivity', {
    summary: 'Count events by hour or day',
    description:
      'Counts the events of each type in each hour or day, the oldest first. Hours and days without events are left out. ' +
      'At most 1,000 hours or days. Where scopes are in use, events of contracts need `contracts:read` beside `fleets:read`.',
    query: ['activityFrom', 'activityTo', 'activityBy', 'eventFleetId'],
    answers: { 200: { description: 'The numbers of events, by hour or day.', schema: z.array(activityCountSchema) } },
    answer: async (ctx, request) => ({ text: await getCompanyActivity(ctx, readQuery(request)) }),
  }),
  get('/history', 'listHistory', {
    summary: 'List what happened',
    description:
      'Lists the history of the company for people, the latest first. All events of one request about one fleet are one item, as are all ' +
      'of one type that the gateway itself caused there within an hour. `GET /events?historyId=…` has the events of one. Where scopes are in use, ' +
      'items of contracts need `contracts:read` beside `fleets:read`.',
    query: ['eventType', 'eventFleetId', 'limit', 'after'],
    answers: listOf('The history, or a page of it.', historyItemSchema),
    errors: ['PAYLOAD_TOO_LARGE'],
    answer(ctx, request) {
      const { type, ...others } = readQuery(request);
      const filter = { ...others, types: readEventTypes(type) };
      return listAnswer(request, (page) => listHistory(ctx, asJson, { page, filter }));
    },
  }),
];
