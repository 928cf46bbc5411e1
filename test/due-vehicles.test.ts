import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { companiesDue } from '../src/core/due-companies.ts';
import { readBacklog } from '../src/core/operations/backlog.ts';
import { claimDueVehicles, postponeVehicles } from '../src/core/vehicles/due-vehicles.ts';
import { startGateway } from './support/gateway.ts';

const { services, execute } = await startGateway();
const ctx = contextOf(services, 'test', null);
const reason = { code: 'HELD', message: 'Held back.', actor: 'MANUFACTURER', retryable: true } as const;

interface Row {
  company: string;
  manufacturer: string | null;
  /** Seconds from now until it is due; null: never. */
  due: number | null;
}

const companies = ['acme', 'globex', 'initech'];
const row: fc.Arbitrary<Row> = fc.record({
  company: fc.constantFrom(...companies),
  manufacturer: fc.constantFrom('bmw', 'renault', 'dacia', null),
  due: fc.option(fc.integer({ min: -1000, max: 1000 }).map((seconds) => seconds * 10 + 5)),
});

/** Vehicles with these values and none else, each with the place in the list as the end of its VIN. */
async function store(rows: readonly Row[]): Promise<void> {
  for (const table of ['vehicle', 'fleet']) await execute(`delete from ${table}`);
  for (const company of companies) {
    await execute(`insert into company values ('${company}') on conflict do nothing`);
    await execute(
      `insert into fleet values (gen_random_uuid(), '${company}', 'Fleet', 'Street', 'a@b.example', 'DE1', now(), now())`,
    );
  }
  if (rows.length === 0) return;
  const values = rows.map(
    ({ company, manufacturer, due }, at) =>
      `('${company}', '${vinAt(at)}', ${manufacturer ? `'${manufacturer}'` : 'null'}, now() + interval '1 second' * ${due})`,
  );
  await execute(`insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select gen_random_uuid(), r.company, f.id, r.vin, r.manufacturer, now(), r.due::timestamptz
    from (values ${values.join()}) r(company, vin, manufacturer, due) join fleet f on f.company = r.company`);
}
const vinAt = (at: number) => `WBA${String(at).padStart(14, '0')}`;
const dueRows = (rows: readonly Row[], company: string, except: readonly string[] = []) =>
  rows
    .map((one, at) => ({ ...one, vin: vinAt(at) }))
    .filter((one) => one.company === company && one.due !== null && one.due < 0)
    .filter(({ manufacturer }) => manufacturer === null || !except.includes(manufacturer));

describe('vehicles that have come due', () => {
  test('are found, claimed and postponed as a list says that has none of the SQL', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 30 }),
        fc.subarray(['bmw', 'renault', 'dacia']),
        fc.integer({ min: 1, max: 8 }),
        async (rows, except, limit) => {
          await store(rows);
          const before = await companiesDue(ctx, 'vehicle');
          expect(before.companies).toEqual(companies.filter((company) => dueRows(rows, company).length > 0));
          const [vehicles] = await readBacklog(ctx);
          const due = companies.flatMap((company) => dueRows(rows, company));
          expect(vehicles?.rows).toBe(due.length);
          const oldest = Math.max(0, ...due.map((one) => -(one.due ?? 0)));
          expect(Math.abs((vehicles?.oldestSeconds ?? 0) - oldest)).toBeLessThan(5);

          const claimed = await claimDueVehicles(ctx, { company: 'acme', except, limit });
          const expected = dueRows(rows, 'acme', except).toSorted((a, b) => (a.due ?? 0) - (b.due ?? 0));
          expect(claimed.length).toBe(Math.min(limit, expected.length));
          // The longest waiting ones; which of those that came due together is open.
          const dueOf = (vin: string) => expected.find((one) => one.vin === vin)?.due;
          expect(claimed.map(({ vin }) => dueOf(vin)).toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
            expected.slice(0, limit).map((one) => one.due),
          );

          await postponeVehicles(ctx, { company: 'globex', brands: except, seconds: 60, reason });
          const left = dueRows(rows, 'globex', except).length;
          const told = dueRows(rows, 'globex').length - left;
          const [count] = await execute<{ left: number; told: number }>(
            `select count(*) filter (where due_at <= now())::int as left,
               count(*) filter (where reason->>'code' = 'HELD' and due_at > now() + interval '50 seconds')::int as told
             from vehicle where company = 'globex'`,
          );
          expect(count).toEqual({ left, told });
        },
      ),
      { numRuns: 25 },
    );
  });

  test('are never claimed beyond the limit, whatever plan the database makes', async () => {
    const rows = Array.from({ length: 40 }, (_, at) => ({ company: 'acme', manufacturer: 'bmw', due: -at - 5 }));
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
