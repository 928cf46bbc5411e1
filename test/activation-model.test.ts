import { expect, test, vi } from 'vitest';
import { all, companies, operationsIn } from './support/activation-operations.ts';
import { outcomeOf, startWorld } from './support/activation-world.ts';
import { HOUR, MINUTE } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { Told } from './support/told.ts';
import type { Fault, Term } from './support/wishes.ts';

/** Orders have a pace, and events are gathered. */
vi.mock('node:timers/promises', async (original) =>
  (await import('./support/short-waits.ts')).shortWaits(await original()),
);

/** Random operations; more by night: `ACTIVATION_OPERATIONS=20000 ACTIVATION_SEED=2 npx vitest run test/activation-model.test.ts`. */
const OPERATIONS = Number(process.env.ACTIVATION_OPERATIONS ?? 300);
const SEED = Number(process.env.ACTIVATION_SEED ?? 1);
/** Vehicles whose contracts are renewed at one instant. */
const MANY = Number(process.env.ACTIVATION_VEHICLES ?? (OPERATIONS > 5000 ? 1000 : 60));
/** Operations between a renewal and its end. */
const EVERY = Math.max(30, MANY);
/** Work that comes due sooner than this is done together. */
const LEAST_MS = 20_000;

const world = await startWorld(SEED);
const { upstream, manufacturers, wishes, clock, random, below, oneOf, passTime, programsOf, isGone } = world;
const told = new Told({ wishes, programsOf, outcomeOf, isGone });
const { anyOperation, renewMany, read, tidy } = await operationsIn(world, MANY);

async function contractsOf(company: string): Promise<Json[]> {
  const client = await world.one().as(company);
  return (await client.get(`/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`)).body;
}

const cursors = new Map<string, string>();
const TYPES = ['activated', 'rejected', 'failed', 'deactivated'].map((type) => `contract.${type}`).join();

let step = 0;
/** When the work of the step began. */
let started = clock();

/** What was ordered to end was not needed before, and is not now. */
function checkEnds(before: ReadonlyMap<string, Term>): void {
  const isKept = ({ id, to }: Term) => before.get(id)?.to === to;
  for (const { program, at, needers } of manufacturers.takeEnds())
    if (wishes.needs(program, started + HOUR, at, (one) => isKept(one) && needers.has(one.id)))
      manufacturers.wrongOrders.push(wishes.faultOf(program, 'was ordered to end, and a contract needs it'));
}

/** Reads what people are told of contracts; `at`: all that was due by then has been done. */
async function readTold(of: readonly string[], at: number): Promise<void> {
  const contracts = (await Promise.all(of.map(contractsOf))).flat();
  const shown = contracts.map(({ id, vin, pack, from, to }) =>
    [id, vin, pack, Date.parse(from), Date.parse(to)].join(),
  );
  const terms = [...wishes.terms.values()].filter(({ company }) => of.includes(company));
  expect(shown.toSorted()).toEqual(
    terms.map(({ id, vin, pack, from, to }) => [id, vin, pack, from, to].join()).toSorted(),
  );
  for (const company of of) {
    const client = await world.one().as(company);
    for (let isMore = true; isMore; ) {
      const after = cursors.get(company);
      const { body } = await client.get(`/events?type=${TYPES}&limit=250${after ? `&after=${after}` : ''}`);
      for (const event of body) told.event(event);
      if (body.length > 0) cursors.set(company, body.at(-1).id);
      isMore = body.length === 250;
    }
  }
  for (const one of contracts) told.state(one, clock(), at);
}

/** What must hold at any moment; `at`: all that was due by then has been done. */
async function check(at: number): Promise<void> {
  const faults = [...wishes.faults(at), ...told.faults, ...manufacturers.wrongOrders];
  const excess = wishes.excess();
  if (faults.length + excess.length === 0) return;
  const rows = await world.base.execute<{ vin: string; program: string }>('select vin, program from activation');
  const known = new Set(rows.map(({ vin, program }) => `${vin} ${program}`));
  for (const program of excess) if (!known.has(program)) faults.push(wishes.faultOf(program, 'is known to no row'));
  if (faults.length === 0) return;
  const [{ program, text }] = faults as [Fault];
  const own = await world.base.execute(`select * from activation where vin = '${program.slice(0, 17)}'`);
  const history = [...own.map((row) => JSON.stringify(row)), wishes.historyOf(program)];
  expect.fail(`seed ${SEED}, step ${step}, ${OPERATIONS} operations: ${text}\n${history.join('\n')}`);
}

/** Lets time pass, and does what comes due when it does, or soon after. */
async function pass(ms: number): Promise<void> {
  const end = clock() + ms;
  const least = Math.max(LEAST_MS, ms / 20);
  for (let due = clock(); ; ) {
    const now = clock();
    const next = Math.max(Math.min(due, manufacturers.nextChange(), wishes.nextChange(now)), now + least);
    passTime(Math.max(0, Math.min(next, end) - now) + 1);
    await manufacturers.carryOut();
    wishes.tick();
    started = clock();
    due = await world.one().work();
    checkEnds(wishes.terms);
    wishes.tick();
    await check(started - 2 * least);
    if (clock() >= end) break;
  }
  const at = started - 2 * least;
  await readTold(step % 10 === 0 ? all : companies, at);
  if (step % 10 === 0) told.ends(at);
  await check(at);
}

/** Companies do one thing after the other, while two processes work or nobody does. */
async function act(first: number, count: number): Promise<void> {
  started = clock();
  const before = wishes.terms;
  async function actOneByOne() {
    for (let n = first; n < first + count; n++) {
      const company = oneOf(companies);
      const isMany = n % EVERY === 20;
      await (isMany ? renewMany() : anyOperation()(company, await world.one().as(company)));
      if (n % 50 === 0) await tidy(company);
      await read(isMany ? all : [company]);
    }
  }
  await Promise.all([actOneByOne(), ...(random() < 0.2 ? [world.one().work(), world.one().work()] : [])]);
  checkEnds(before);
  wishes.tick();
}

test(
  `manufacturers have what contracts in force need at every step of ${OPERATIONS} operations${unlessMissing}`,
  async () => {
    for (let n = 0; n < OPERATIONS; ) {
      step = world.nextStep();
      if (random() < 0.25) manufacturers.isStormy = random() < 0.4;
      for (let groups = 1 + below(5); groups > 0 && n < OPERATIONS; groups--) {
        const count = Math.min(1 + below(6), OPERATIONS - n);
        await act(n, count);
        n += count;
      }
      await pass(oneOf([0, 1000, 10_000, MINUTE, MINUTE, 5 * MINUTE, 20 * MINUTE, 2 * HOUR, 7 * HOUR]));
      if (hasDocuments) expect(upstream.faults).toEqual([]);
      upstream.received.length = 0;
    }
    manufacturers.isStormy = false;
    for (let n = 0; n < 10; n++) await pass(7 * HOUR);
  },
  OPERATIONS * 2000 + 120_000,
);
