import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { takeOverClaims } from '../src/core/companies/take-over-claims.ts';
import { contextOf } from '../src/core/context.ts';
import { vehicleSchedule } from '../src/core/vehicles/due-vehicles.ts';
import { type ClaimingTools, Claims } from '../src/jobs/claims.ts';
import { DeliverWebhooks, resumeWebhooks } from '../src/jobs/deliver-webhooks.ts';
import type { Job } from '../src/jobs/job.ts';
import { publish } from '../src/jobs/publish-events.ts';
import { deleteFleets, upkeep } from '../src/jobs/upkeep.ts';
import { VerifyEligibility } from '../src/jobs/verify-eligibility.ts';
import { recount } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { scheduleAll } from './support/schedule.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';

// Many companies have work at once. Between two looks at what is due, a job does a bounded part of it.

const COMPANIES = 600;
/** Statements of one look with the work that it finds. */
const FEW = 600;

const gateway = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' } });
const receiver = await WebhookReceiver.start();

/** Called with each statement and transaction that jobs send. */
let onSend = (_: string): void => {};
const { database } = gateway.services;
const counted: typeof database = {
  ...database,
  send: (text, values) => {
    onSend(text);
    return database.send(text, values);
  },
};
const connection = database.orm.em.getConnection();
const begin = connection.begin.bind(connection);
connection.begin = (options) => {
  if (!options?.ctx) onSend('begin');
  return begin(options);
};
const open = () => contextOf({ ...gateway.services, database: counted }, 'job', null);

function countStatements(): { sent: number } {
  const count = { sent: 0 };
  onSend = () => void count.sent++;
  return count;
}

const errors: unknown[] = [];
const tools: ClaimingTools = {
  open,
  onError: (error) => void errors.push(error),
  withBackoff: (step) => step(),
  claims: new Claims(open),
};

beforeEach(async () => {
  await gateway.execute(`
    insert into company select 'company ' || lpad(n::text, 4, '0') from generate_series(1, ${COMPANIES}) n;
    insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
      select gen_random_uuid(), company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from company;
    insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at)
      select gen_random_uuid(), company, id, 'WBA' || lpad((10 * row_number() over ())::text, 14, '0'), 'bmw', 'PENDING', now()
      from fleet`);
});
afterEach(async () => {
  onSend = () => {};
  const tables = [
    'delivery',
    'history',
    'activity',
    'event',
    'webhook',
    'contract',
    'vehicle_tally',
    'vehicle',
    'fleet',
    'schedule',
    'worker',
    'company',
  ];
  for (const table of tables) await gateway.execute(`delete from ${table}`);
  expect(errors.splice(0)).toEqual([]);
});

const webhooks = (state = 'due_at', value = 'null') => `
  insert into webhook (id, company, url, secret, created_at, updated_at, ${state})
    select gen_random_uuid(), company, '${receiver.url('/')}', 'whsec_c2VjcmV0', now(), now(), ${value} from company;`;

/** Statements that give each company work, the job that does it, and the rows that it has then done. */
const jobs: Record<string, { work: string; make: (tools: ClaimingTools) => Job; left: string }> = {
  verification: {
    work: `update vehicle set due_at = now() - interval '1 second'; ${scheduleAll}`,
    make: (tools) => new VerifyEligibility(tools),
    left: `vehicle where status = 'PENDING'`,
  },
  deliveries: {
    work: `${webhooks()}
      insert into event (id, company, position, type, at, actor)
        select gen_random_uuid(), company, 1, 'fleet.updated', now(), 'somebody' from company;
      insert into delivery (id, company, webhook_id, event_id, due_at, created_at)
        select gen_random_uuid(), w.company, w.id, e.id, now() - interval '1 second', now()
        from webhook w join event e using (company);
      ${scheduleAll}`,
    make: (tools) => new DeliverWebhooks(tools),
    left: `delivery where state = 'PENDING'`,
  },
  'entries of the schedule without work': {
    work: `insert into schedule (company, kind, due_at) select company, 'delivery', now() - interval '1 second'
      from company, generate_series(1, 20)`,
    make: (tools) => new DeliverWebhooks(tools),
    left: 'schedule',
  },
  'contract periods': {
    work: `
      insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
        select gen_random_uuid(), company, fleet_id, id, 'Log', 'Log', 'log', now() - interval '1 second',
          now() + interval '1 year', now(), now() - interval '1 second'
        from vehicle;
      ${scheduleAll}`,
    make: publish,
    left: 'contract where due_at <= now()',
  },
  resumptions: {
    work: webhooks('due_at', `now() - interval '1 second'`),
    make: resumeWebhooks,
    left: 'webhook where due_at is not null',
  },
  deletions: {
    work: `update fleet set deletion = '{"actor":"a","request_id":null}'`,
    make: deleteFleets,
    left: 'fleet',
  },
  tallies: {
    work: `${recount}; ${`${recount.replace(/^with.*\n/, '').replace('count(*)', '0')};`.repeat(20)}`,
    make: upkeep,
    left: '(select from vehicle_tally group by company having count(*) > 16) grown',
  },
};

describe.each(Object.entries(jobs))('%s of many companies', (_, { work, make, left }) => {
  test('end with the statement that is under way when the process is stopped', async () => {
    await gateway.execute(work);
    const job = make(tools);
    const stop = new AbortController();
    const late: string[] = [];
    let sent = 0;
    onSend = (text) => {
      if (stop.signal.aborted) late.push(text);
      if (++sent === 100) stop.abort();
    };
    await job.run(stop.signal);
    await job.stop?.();
    expect(sent).toBeGreaterThanOrEqual(100);
    // What is under way is stored, and the claims of this process are given back.
    expect(late.length).toBeLessThan(40);
    expect(await gateway.execute('select from vehicle where claimed_by is not null')).toEqual([]);
  });

  test('reach every company', async () => {
    await gateway.execute(work);
    const job = make(tools);
    const { signal } = new AbortController();
    await until(async () => {
      await job.run(signal);
      return (await gateway.execute(`select from ${left} limit 1`)).length === 0;
    });
    await job.stop?.();
  });
});

test('a look at due vehicles is followed by the work of a few companies', async () => {
  await gateway.execute(jobs.verification?.work ?? '');
  const job = new VerifyEligibility(tools);
  const count = countStatements();
  await job.run(new AbortController().signal);
  expect(count.sent).toBeLessThan(FEW);
  await job.stop();
});

test('claims of a dead process are found without the companies that have work', async () => {
  await gateway.execute(`${jobs.verification?.work ?? ''};
    insert into worker values ('${randomUUID()}', now() - interval '1 second')`);
  await gateway.execute(`update vehicle set claimed_by = worker.id, due_at = now() + interval '30 seconds' from worker
    where company in ('company 0007', 'company 0599')`);
  const count = countStatements();
  await takeOverClaims(open());
  expect(count.sent).toBeLessThan(4);
  expect(await gateway.execute('select from vehicle where claimed_by is not null')).toEqual([]);
  expect(await gateway.execute(`select company from schedule where due_at > now() - interval '1 second'`)).toHaveLength(
    2,
  );
  expect(await gateway.execute('select from worker')).toEqual([]);
});

test('after a look that waited long for the database, what comes due is looked for within seconds', async () => {
  let waited = 0;
  const real = performance.now.bind(performance);
  const at = real();
  vi.spyOn(performance, 'now').mockImplementation(() => at + waited);
  onTestFinished(() => void vi.restoreAllMocks());
  onSend = () => {
    waited = 5000;
  };
  const job = new VerifyEligibility(tools);
  const { signal } = new AbortController();
  await job.run(signal);
  await gateway.execute(jobs.verification?.work ?? '');
  waited += 3000;
  const count = countStatements();
  await job.run(signal);
  expect(count.sent).toBeGreaterThan(100);
  vi.restoreAllMocks();
  await job.stop();
});

test('many entries of a company become one with a look', async () => {
  await gateway.execute(`
    update vehicle set due_at = now() - interval '1 second' where company = 'company 0001';
    insert into schedule (company, kind, due_at)
      select 'company 0001', 'vehicle', now() - interval '1 second' from generate_series(1, 20)`);
  const { companies } = await vehicleSchedule.companiesDue(open());
  expect(companies).toEqual(['company 0001']);
  expect(await gateway.execute(`select company from schedule`)).toEqual([{ company: 'company 0001' }]);
});
