import { setTimeout as delay } from 'node:timers/promises';
import { beginCopy, caughtUp, clear, compare, copied, endCopy, type Move, type Moved, passSequences } from './copy.ts';
import { type Column, type Installation, MoveError } from './installation.ts';
import type { PlacementState } from './placement.ts';
import { mapCompany, type ProxyMap } from './proxy-map.ts';

/** Each step is done again after a kill: both installations say how far the move has come (placement.ts). */

const DRAIN_SECONDS = 150;
/** Requests of the company are refused for no longer in vain. */
const HOLD_SECONDS = 10;
const HOLDS = 3;
const PAUSE_MS = 1_000;

interface Moving extends Moved {
  installations: readonly Installation[];
  map: ProxyMap;
}

/** Moves a company with everything it has; goes on with a move that was cut off. Throws MoveError. */
export async function moveCompany(moving: Moving, target: Installation): Promise<void> {
  const { company, installations, tell } = moving;
  const source = await sourceOf(moving, target);
  // A proxy that does not answer is noticed before anything begins.
  await tellProxy(moving, source ?? target);
  if (source) {
    const move = { ...moving, source, target };
    const began = (await target.placeOf(company))?.state === 'ARRIVED' ? performance.now() : await bring(move);
    await handOver(move);
    tell(`${company} is in ${target.name}, and is served as soon as the proxy knows`);
    await tellProxy(moving, target);
    tell(`served by ${target.name}; requests were refused for ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
  for (const one of installations.filter((each) => each !== target)) {
    await one.place({ company, state: 'ELSEWHERE', other: target });
    await clear(one, moving);
  }
  tell(`${company} is in ${target.name}`);
}

/** Gives a move up that has not come to its end: the company stays where it is. Throws MoveError. */
export async function abortMove(moving: Moving, target: Installation): Promise<void> {
  const { company, installations, tell } = moving;
  const place = await target.placeOf(company);
  if (place?.state !== 'ARRIVING') throw new MoveError(`${company} is not on its way to ${target.name}.`);
  const source = named(installations, place.installation);
  await source.place({ company, state: 'HERE', other: source });
  await endCopy({ ...moving, source, target });
  await clear(target, moving);
  await target.place({ company, state: 'ELSEWHERE', other: source });
  tell(`${company} stays in ${source.name}`);
}

/** Says where a company is to be that has nothing yet, or where one is that was made there. Throws MoveError. */
export async function placeCompany(moving: Moving, target: Installation): Promise<void> {
  const { company, installations, tell } = moving;
  const others = installations.filter((one) => one !== target);
  const states = new Map<Installation, PlacementState>();
  for (const one of installations) states.set(one, (await one.placeOf(company))?.state ?? 'HERE');
  if (!states.values().every((state) => ['HERE', 'ELSEWHERE'].includes(state)))
    throw new MoveError(`${company} is being moved.`);
  const elsewhere = { company, state: 'ELSEWHERE', other: target } as const;
  const requireNoRows = async (one: Installation) => {
    if (await hasRows(one, company)) throw new MoveError(`${company} has rows in ${one.name}: move it.`);
  };
  for (const one of others) await requireNoRows(one);
  try {
    for (const one of others) {
      // A process that was killed a moment ago is waited for.
      await one.place({ ...elsewhere, within: DRAIN_SECONDS });
      await requireNoRows(one);
    }
  } catch (error) {
    for (const one of others) if (states.get(one) === 'HERE') await one.place({ company, state: 'HERE', other: one });
    throw error;
  }
  for (const one of others) await one.place(elsewhere);
  await target.place({ company, state: 'HERE', other: target });
  await tellProxy(moving, target);
  tell(`${company} is in ${target.name}`);
}

/** Commands write the file one after the other; no company has the name of this lock. */
const tellProxy = ({ company, installations: [first], map }: Moving, target: Installation) =>
  (first ?? target).alone('', () => mapCompany(map, company, target.name));

export function named(installations: readonly Installation[], name: string): Installation {
  const found = installations.find((one) => one.name === name);
  if (!found) throw new MoveError(`There is no installation ${name} in DATABASE_ADMIN_URLS.`);
  return found;
}

const hasRows = (where: Installation, company: string) =>
  where.one<boolean>(
    `select ${where.tables.map((table) => `exists (select from ${table} where company = $1)`).join(' or ')}`,
    [company],
  );

/** Where the company comes from; null if it is in the target already. */
async function sourceOf({ company, installations }: Moving, target: Installation): Promise<Installation | null> {
  const found: Installation[] = [];
  for (const one of installations) {
    const place = await one.placeOf(company);
    if (place?.state === 'ARRIVING' || place?.state === 'ARRIVED') {
      if (one === target) return named(installations, place.installation);
      throw new MoveError(`${company} is on its way to ${one.name}: finish or abort that move first.`);
    }
    if (place ? !['ELSEWHERE', 'LEFT'].includes(place.state) : await hasRows(one, company)) found.push(one);
  }
  const names = found.map(({ name }) => name).join(' and ');
  if (found.length > 1) throw new MoveError(`${company} has rows in ${names}, and may be served by both.`);
  const [source] = found;
  if (!source) throw new MoveError(`No installation has anything of ${company}: place it.`);
  return source === target ? null : source;
}

/** Copies the company until the target has all of it and the source writes nothing; gives since when (performance.now()). */
async function bring(move: Move & Moving): Promise<number> {
  const { company, source, target, tell } = move;
  await requireFit(move);
  await target.place({ company, state: 'ARRIVING', other: source, within: DRAIN_SECONDS });
  await source.place({ company, state: 'COPYING', other: target });
  tell(`copying ${company} from ${source.name} to ${target.name}`);
  try {
    await beginCopy(move);
  } catch (error) {
    await abortMove(move, target);
    throw error;
  }
  try {
    await copied(move);
    const began = await hold(move);
    await caughtUp(move);
    const counts = await compare(move);
    await passSequences(move);
    await target.place({ company, state: 'ARRIVED', other: source });
    tell(`copied ${counts}`);
    return began;
  } catch (error) {
    await source.place({ company, state: 'COPYING', other: target });
    tell(`${company} is still served by ${source.name}: the same command goes on, and --abort gives it up`);
    throw error;
  }
}

const UPLOADS = `select exists (select from import where company = $1 and state in ('RUNNING', 'STORING') and due_at > now())`;

/** Has every process of the source end what it does of the company; gives since when requests are refused. */
async function hold(move: Move, tries = HOLDS): Promise<number> {
  const { company, source, target, tell, progress } = move;
  for (; await source.one<boolean>(UPLOADS, [company]); await delay(PAUSE_MS)) progress('waiting for uploads to end');
  const draining = { company, state: 'DRAINING', other: target } as const;
  await source.place({ ...draining, within: DRAIN_SECONDS });
  const began = performance.now();
  try {
    await source.place({ ...draining, state: 'HELD', within: HOLD_SECONDS });
    return began;
  } catch (error) {
    if (tries === 1) throw error;
    tell(`${(error as Error).message} It is served again, and held once more.`);
  }
  await source.place(draining);
  await delay(PAUSE_MS);
  return hold(move, tries - 1);
}

/** The company is in the target's hands from the moment that the source has recorded that it has left. */
async function handOver(move: Move): Promise<void> {
  const { company, source, target } = move;
  await endCopy(move);
  await source.place({ company, state: 'LEFT', other: target, also: ['delete from schedule where company = $1'] });
  // An entry that is due now is no later than the first due row; the jobs replace it.
  const due = `insert into schedule (company, kind, due_at)
    select $1, kind, now() from unnest(array['vehicle', 'contract', 'delivery', 'activation']) kind`;
  await target.place({ company, state: 'HERE', other: source, also: [due] });
}

/** Columns of one that the other lacks. */
const more = (one: Installation, other: Installation) =>
  one.columns.filter(({ table, column }) => !other.columns.some((its) => its.table === table && its.column === column));
const listed = (columns: readonly Column[]) => columns.map(({ table, column }) => `${table}.${column}`).join(', ');

const SERVER = `select system_identifier || ' ' || pg_postmaster_start_time() from pg_control_system()`;

/** Where the company has programs that belong to an account, and the accounts there. */
const PROVIDERS = `select array(select distinct provider from activation where company = $1 and asked and provider <> 'sandbox')`;
const ACCOUNTS = `select string_agg(distinct account, ', ') from process, unnest(accounts) account
  where alive_until > now() and split_part(account, ' ', 1) = any ($1)`;

/** Throws MoveError where a company cannot move. */
async function requireFit({ company, source, target }: Move): Promise<void> {
  const both = [source, target];
  const refuse = (reason: string) => {
    throw new MoveError(`${company} cannot move from ${source.name} to ${target.name}: ${reason}`);
  };
  // Versions may differ by what the target's own defaults fill in.
  const lost = more(source, target);
  if (lost.length > 0)
    refuse(`${target.name} has no ${listed(lost)}. Run "npm run migrate -- up" of ${source.name}'s version there.`);
  const unfilled = more(target, source).filter(({ table, isRequired }) => isRequired && source.tables.includes(table));
  if (unfilled.length > 0)
    refuse(`${target.name} needs ${listed(unfilled)}. Run "npm run migrate -- up" of its version at ${source.name}.`);
  const servers = await Promise.all(both.map((one) => one.one<string>(SERVER)));
  if (servers[0] === servers[1]) refuse('both are on one PostgreSQL, which cannot follow itself.');
  if (source.schema !== target.schema) refuse(`their tables are in the schemas ${source.schema} and ${target.schema}.`);
  if ((await source.one<string>('show wal_level')) !== 'logical')
    refuse(`PostgreSQL of ${source.name} needs wal_level=logical, and a restart.`);
  for (const one of both)
    if ((await one.one<number>('select count(*)::int from process where alive_until > now()')) === 0)
      refuse(`no gateway of ${one.name} runs with INSTALLATION=${one.name}.`);
  if (!(await target.placeOf(company)) && (await hasRows(target, company)))
    refuse(`${target.name} has rows of it already.`);
  const providers = await source.one<string[]>(PROVIDERS, [company]);
  const [own, others] = await Promise.all(both.map((one) => one.one<string | null>(ACCOUNTS, [providers])));
  if (providers.length > 0 && (own === null || own !== others))
    refuse(`it has programs at ${providers}, which belong to an account there, and both do not have the same one.`);
}
