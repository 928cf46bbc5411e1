import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { readBacklog } from '../src/core/operations/backlog.ts';
import { claimDueVehicles, postponeVehicles, vehicleSchedule } from '../src/core/vehicles/due-vehicles.ts';
import { startGateway } from './support/gateway.ts';

const { services, execute } = await startGateway();
// The service's clock is stopped, so that seconds are exact.
const now = new Date();
vi.useFakeTimers({ toFake: ['Date'], now });
afterAll(() => void vi.useRealTimers());
const clock = `'${now.toISOString()}'::timestamptz`;
const ctx = contextOf(services, 'test', null);
const reason = { code: 'PROVIDER_BUSY', message: 'Held back.', actor: 'MANUFACTURER', retryable: true } as const;

interface Row {
  company: string;
  manufacturer: string | null;
  /** Seconds until the vehicle is due; null means never. */
  due: number | null;
  /** Whether the vehicle is in a deleted fleet. */
  gone: boolean;
}

const companies = ['acme', 'globex', 'initech'];
const row: fc.Arbitrary<Row> = fc.record({
  company: fc.constantFrom(...companies),
  manufacturer: fc.constantFrom('bmw', 'renault', 'dacia', null),
  due: fc.option(fc.integer({ min: -1000, max: 1000 }).map((seconds) => seconds * 10 + 5)),
  gone: fc.boolean(),
});

/** Stores only these vehicles; a VIN ends with the index of its row. */
async function store(rows: readonly Row[]): Promise<void> {
  for (const table of ['vehicle', 'fleet', 'schedule']) await execute(`delete from ${table}`);
  for (const company of companies) {
    await execute(`insert into company values ('${company}') on conflict do nothing`);
    for (const deletion of ['null', `'{}'`])
      await execute(`insert into fleet values
        (gen_random_uuid(), '${company}', 'Fleet', 'Street', 'a@b.example', 'DE1', now(), now(), ${deletion})`);
  }
  await execute(`insert into schedule (company, kind, due_at) select company, 'vehicle', '-infinity' from company`);
  if (rows.length === 0) return;
  const values = rows.map(
    ({ company, manufacturer, due, gone }, at) =>
      `('${company}', '${vinAt(at)}', ${manufacturer ? `'${manufacturer}'` : 'null'}, ${clock} + interval '1 second' * ${due}, ${gone})`,
  );
  await execute(`insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select gen_random_uuid(), r.company, f.id, r.vin, r.manufacturer, now(), r.due::timestamptz
    from (values ${values.join()}) r(company, vin, manufacturer, due, gone)
      join fleet f on f.company = r.company and (f.deletion is not null) = r.gone`);
}
const vinAt = (at: number) => `WBA${String(at).padStart(14, '0')}`;
const dueRows = (rows: readonly Row[], company: string, except: readonly string[] = []) =>
  rows
    .map((one, at) => ({ ...one, vin: vinAt(at) }))
    .filter((one) => one.company === company && !one.gone && one.due !== null && one.due < 0)
    .filter(({ manufacturer }) => manufacturer === null || !except.includes(manufacturer));

const NEVER = 1e9;
/** Seconds until the first vehicle comes due in companies without due vehicles. */
const nextDue = (rows: readonly Row[]) => {
  const idle = companies.filter((company) => dueRows(rows, company).length === 0);
  return Math.min(
    NEVER,
    ...rows.filter((one) => !one.gone && idle.includes(one.company)).map((one) => one.due ?? NEVER),
  );
};

describe('due vehicles', () => {
  test('are found, claimed and postponed as in a model without SQL', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 30 }),
        fc.subarray(['bmw', 'renault', 'dacia']),
        fc.integer({ min: 1, max: 8 }),
        async (rows, except, limit) => {
          await store(rows);
          for (const company of companies) await vehicleSchedule.reschedule(ctx, company);
          const before = await vehicleSchedule.companiesDue(ctx);
          expect(before.companies.toSorted()).toEqual(companies.filter((company) => dueRows(rows, company).length > 0));
          const seconds = before.next ? (Date.parse(before.next) - Date.now()) / 1000 : NEVER;
          expect(seconds).toBe(nextDue(rows));
          const [vehicles] = await readBacklog(ctx);
          const due = companies.flatMap((company) => dueRows(rows, company));
          expect(vehicles?.rows).toBe(due.length);
          const oldest = Math.max(0, ...due.map((one) => -(one.due ?? 0)));
          expect(vehicles?.oldestSeconds ?? 0).toBe(oldest);

          const claimed = await claimDueVehicles(ctx, { company: 'acme', except, limit });
          const expected = dueRows(rows, 'acme', except).toSorted((a, b) => (a.due ?? 0) - (b.due ?? 0));
          expect(claimed.length).toBe(Math.min(limit, expected.length));
          // The longest waiting vehicles come first; the order of equal times is open.
          const dueOf = (vin: string) => expected.find((one) => one.vin === vin)?.due;
          expect(claimed.map(({ vin }) => dueOf(vin)).toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
            expected.slice(0, limit).map((one) => one.due),
          );

          await postponeVehicles(ctx, { company: 'globex', brands: except, seconds: 60, reason });
          const left = dueRows(rows, 'globex', except).length;
          const told = dueRows(rows, 'globex').length - left;
          const [count] = await execute<{ left: number; told: number }>(
            `select count(*) filter (where v.due_at <= now())::int as left,
               count(*) filter (where v.reason->>'code' = 'PROVIDER_BUSY' and v.due_at > now() + interval '50 seconds')::int as told
             from vehicle v join fleet f on f.company = v.company and f.id = v.fleet_id
             where v.company = 'globex' and f.deletion is null`,
          );
          expect(count).toEqual({ left, told });
        },
      ),
      { numRuns: 25 },
    );
  });

  test('are never claimed beyond the limit, with any plan', async () => {
    const rows = Array.from({ length: 40 }, (_, at) => ({
      company: 'acme',
      manufacturer: 'bmw',
      due: -at - 5,
      gone: false,
    }));
    for (const off of ['enable_hashjoin', 'enable_mergejoin', 'enable_nestloop', 'enable_material', 'enable_memoize']) {
      await store(rows);
      const claimed = await ctx.em.transactional(async (em) => {
        await em.execute(`set local enable_seqscan = off; set local ${off} = off; set local enable_hashagg = off`);
        return claimDueVehicles(ctx, { company: 'acme', except: [], limit: 2 });
      });
      expect(claimed).toHaveLength(2);
    }
  });
});
