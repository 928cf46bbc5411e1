import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { scheduleAll } from '../src/migrations/take-over.ts';
import { addVehicles, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const idle = await startGateway();

/** Vehicles claimed for two minutes by a process whose last sign of life was 20 seconds before `aliveUntil`. */
async function claimedBy(company: string, aliveUntil: string): Promise<string[]> {
  const worker = randomUUID();
  const vins = newVins(3);
  await addVehicles(await idle.as(company), vins);
  await idle.execute(`
    update vehicle set claimed_by = '${worker}', due_at = now() + interval '2 minutes' where company = '${company}';
    delete from schedule where company = '${company}';
    ${scheduleAll};
    insert into worker values ('${worker}', ${aliveUntil})`);
  return vins;
}

const statusesOf = async (company: string) => {
  const rows = await idle.execute<{ status: string }>(
    `select distinct status from vehicle where company = '${company}' order by status`,
  );
  return rows.map(({ status }) => status);
};

test('claims are taken over if their process was silent for 20 seconds, and not if it is alive', async () => {
  await claimedBy('killed', `now() - interval '1 second'`);
  await claimedBy('living', `now() + interval '20 seconds'`);
  const busy = await startGateway({ workers: true, on: idle });
  await until(async () => !(await statusesOf('killed')).includes('PENDING'));
  expect(await statusesOf('living')).toEqual(['PENDING']);

  busy.passTime(21_000);
  await until(async () => !(await statusesOf('living')).includes('PENDING'));
  await busy.close();
  expect(await idle.execute('select from worker')).toEqual([]);
});
