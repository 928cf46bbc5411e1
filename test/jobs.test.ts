import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import pg from 'pg';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { activityOf } from '../src/jobs/job.ts';
import { startRunner } from '../src/jobs/runner.ts';
import { asAdmin } from './support/database.ts';
import { addVehicles, createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway();
const { services } = gateway;
const acme = await gateway.as('acme');

// @ts-expect-error: no job has this kind of work.
void (() => services.changes.announce('due', 'vehicles'));

/** Runs background jobs until the test ends. */
function work(): void {
  const { changes, log } = services;
  const activity = activityOf(new EventEmitter());
  const runner = startRunner({ open: () => contextOf(services, 'job', null), changes, log, activity });
  onTestFinished(() => runner.stop());
}
const eligibilityOf = (vin: string) => acme.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=10' });

test('idle background work wakes no job, not even itself', async () => {
  work();
  await addVehicles(acme, ['WBA00000000000001']);
  await eligibilityOf('WBA00000000000001');
  const wakings: string[] = [];
  services.changes.on('due', (kind) => wakings.push(kind));
  const marks: string[] = [];
  services.changes.on('import', (mark) => marks.push(mark));
  // Announcements arrive in order, so all earlier ones have arrived with this mark.
  const settled = async () => {
    const mark = randomUUID();
    services.changes.announce('import', mark);
    await until(() => marks.includes(mark));
    return wakings.splice(0);
  };
  await until(async () => (await settled()).length === 0);
  for (let look = 0; look < 5; look++) expect(await settled()).toEqual([]);
});

test.skipIf(gateway.database.kind === 'embedded')(
  'a long deletion of a fleet does not delay the answers of other vehicles',
  async () => {
    const doomed = await createFleet(acme);
    const [held, free] = ['WBA00000000000011', 'WBA00000000000021'] as const;
    await addVehicles(acme, [held], doomed);
    await addVehicles(acme, [free]);
    const deletion = new pg.Client(asAdmin(gateway.env));
    await deletion.connect();
    onTestFinished(() => deletion.end());
    await deletion.query('begin');
    await deletion.query(`select from fleet where company = 'acme' and id = $1 for update`, [doomed.id]);
    work();
    expect(await eligibilityOf(free)).toMatchObject({ status: 200, body: { eligible: true } });
    expect(await acme.get(`/vehicles/eligibility/${held}`)).toMatchObject({ status: 409 });
  },
);

test.skipIf(gateway.database.kind === 'embedded')(
  'a job that fails to lock rows of a long transaction logs no warning',
  async () => {
    const lines: { level: number; msg: string; err?: unknown }[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const long = new pg.Client(asAdmin(gateway.env));
    await long.connect();
    onTestFinished(() => long.end());
    await long.query('begin');
    await long.query('lock table vehicle in access exclusive mode');
    const activity = activityOf(new EventEmitter());
    const runner = startRunner({
      ...{ open: () => contextOf(services, 'job', null), changes: services.changes, log, activity },
    });
    onTestFinished(() => runner.stop());
    await until(() => lines.some(({ msg }) => msg.includes('somebody else has locked')));
    await long.query('rollback');
    expect(lines.filter(({ level, err }) => level > 30 || err)).toEqual([]);
  },
);
