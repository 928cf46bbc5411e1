import { z } from 'zod';
import {
  type Answer,
  type Ask,
  type AskFor,
  accessRevoked,
  chunksOf,
  decided,
  forLooks,
  isBefore,
  isLookedAt,
  isOlder,
  isOwnEnd,
  LOOKS,
  Narrowing,
  Pace,
  readOk,
  sendAll,
  stands,
  timeOf,
  unanswered,
  unreadable,
} from './activation.ts';
import { candidateBrands, makersOf } from './brands.ts';
import type { Reply } from './exchange.ts';
import {
  brandRefused,
  mentionsBrand,
  notCancelled,
  refused,
  rejection,
  tooEarly,
  vinRefused,
} from './high-mobility-reasons.ts';
import {
  type Activator,
  type Asker,
  type ProgramAnswer,
  type ProgramWish,
  ProviderError,
  type WishAnswer,
} from './provider.ts';

/** Vehicles of a request that creates clearances. */
const CREATED_AT_ONCE = 1000;
/** VINs of a filter, which is a part of the address: about 6 kB. */
const LOOKED_AT_ONCE = 200;

const text = z.string().nullish().catch(null);
const cleared = z.object({ vin: z.string(), status: z.string(), description: text });
const creation = z.object({ vehicles: z.array(cleared) });
const end = z.object({ vin: z.string(), status: z.enum(['revoking', 'canceling']) });
const changelog = z.array(z.object({ status: z.string(), reason: text, timestamp: text })).catch([]);
const listed = z.array(cleared.extend({ changelog }));
/** The words of a refusal's errors. */
const refusal = z
  .object({ errors: z.array(z.object({ title: text, detail: text, source: text })) })
  .transform(({ errors }) => errors.map(({ title, detail }) => `${title} ${detail}`).join(' '));

/** Vehicles of a good request are refused one by one; the whole request without a name of what is wrong. */
const blames = ({ status }: Reply) => (status === 422 ? () => false : null);

/** A clearance as the list has it. In ms since 1970, `at`: when its status began; `since`: when its end did, which may take hours. */
type Cleared = { status: string; why: string | null; at: number | null; since: number | null; raw: unknown };

/** What a status of `FleetVin` means where a clearance is wanted, and where it is not; null: it must be asked for, or ended. */
const meanings: Readonly<
  Record<string, readonly [wanted: ProgramAnswer['state'] | null, unwanted: 'ENDED' | 'ENDING' | null]>
> = {
  pending: ['PENDING', null],
  approved: ['ACTIVE', null],
  rejected: ['REJECTED', 'ENDED'],
  // A clearance that is ending can be created again when it has ended.
  revoking: ['PENDING', 'ENDING'],
  canceling: ['PENDING', 'ENDING'],
  revoked: ['REJECTED', 'ENDED'],
  canceled: [null, 'ENDED'],
};

type Question = { vin: string; names: readonly string[]; wishes: readonly ProgramWish[] };

/** Clearances of vehicles by High Mobility's Fleet Clearance API: one for a vehicle, whatever its packs. */
export function clearances(
  askFor: AskFor,
  url: string,
  brands: Iterable<string>,
  { lookDelays = LOOKS, clock = Date.now }: { lookDelays?: readonly number[]; clock?: (() => number) | undefined } = {},
): Omit<Activator, 'list'> {
  const known = new Set(brands);
  const candidatesOf = (vin: string) => candidateBrands(vin).filter((name) => known.has(name));
  const narrowing = new Narrowing(clock);
  const pace = new Pace(clock);
  const vehicles = `${url}/v1/fleets/vehicles`;

  /** A new wish is ordered; otherwise the list says what is to be ordered. */
  async function activate(wishes: readonly ProgramWish[], asker: Asker): Promise<WishAnswer[]> {
    const ask: Ask = (request) => askFor(request, asker);
    const answers = new Map<ProgramWish, WishAnswer>();
    const before = wishes.filter(isLookedAt);
    const { found, unread } = await look(forLooks(asker), [...new Set(before.map(({ vin }) => vin))]);
    const refused = new Map<string, string>();
    for (const wish of before) {
      const known = wish.repeated ? undefined : unread.get(wish.vin);
      const answer = known ?? answerOf(wish, found.get(wish.vin)) ?? decided(wish);
      if (answer?.outcome === 'STANDS' && answer.state === 'REJECTED' && mentionsBrand(answer.reason?.message)) {
        // The vehicle may be cleared as another brand.
        refused.set(wish.vin, wish.brand);
        if (namesOf(wish, wish.brand).length > 0) continue;
      }
      if (answer) answers.set(wish, answer);
    }
    const ordered = new Set(wishes.filter((wish) => !answers.has(wish)));
    const created = Map.groupBy(
      [...ordered].filter(({ wanted }) => wanted),
      ({ vin }) => vin,
    );
    const questions = [...created].map(([vin, own]) => ({
      vin,
      names: namesOf(own[0] as ProgramWish, refused.get(vin)),
      wishes: own,
    }));
    const endOne = async (wish: ProgramWish) => answers.set(wish, await revoke(ask, wish));
    await Promise.all([create(ask, questions, answers), ...[...ordered].filter(({ wanted }) => !wanted).map(endOne)]);
    return wishes.map((wish) => ({
      ...(answers.get(wish) ?? unreadable(null)),
      looked: isLookedAt(wish) && !unread.has(wish.vin),
      ordered: ordered.has(wish),
    }));
  }

  /** The brands by which a vehicle is asked for, in order: that of the row first, without those up to a refused one. */
  function namesOf({ vin, brand }: Pick<ProgramWish, 'vin' | 'brand'>, refused?: string): readonly string[] {
    const candidates = candidatesOf(vin);
    const all = candidates.length > 0 ? candidates : [brand];
    if (refused !== undefined) return all.slice(all.indexOf(refused) + 1);
    return all.toSorted((a, b) => Number(b === brand) - Number(a === brand));
  }

  /** The clearances of these VINs (getting one by one is limited to 60 calls a minute), and an answer for each VIN whose list was not read. */
  async function look(asker: Asker, vins: readonly string[]) {
    const found = new Map<string, Cleared>();
    const unread = new Map<string, WishAnswer>();
    async function read(some: readonly string[]) {
      const filter = encodeURIComponent(JSON.stringify({ vin: { operator: 'in', value: some } }));
      const answer = await askFor({ method: 'GET', url: `${vehicles}?filter=${filter}` }, asker);
      const all = readOk(listed, answer);
      if (!all) for (const vin of some) unread.set(vin, failure(answer));
      for (const one of all ?? []) {
        const index = one.changelog.findLastIndex(({ status }) => status === one.status);
        const [last, before] = [one.changelog[index], one.changelog[index - 1]];
        const why = last?.reason ?? one.description ?? null;
        const since = timeOf((before?.status === 'revoking' ? before : last)?.timestamp);
        found.set(one.vin, { status: one.status, why, at: timeOf(last?.timestamp), since, raw: one });
      }
    }
    await Promise.all(chunksOf(vins, LOOKED_AT_ONCE).map(read));
    return { found, unread };
  }

  /** null: it must be asked for, or ended. */
  function answerOf(wish: ProgramWish, found?: Cleared): WishAnswer | null {
    // That a list has no clearance does not confirm its end.
    if (!found) return wish.state === 'ENDED' && !wish.wanted ? stands('ENDED', null) : null;
    const { status, why, at, since, raw } = found;
    if (!meanings[status]) return unreadable(raw);
    const state = meanings[status][wish.wanted ? 0 : 1];
    if (wish.repeated && isOlder(wish, at ?? 0)) return null;
    if (state !== 'REJECTED') return state && { ...stands(state, raw), orderedAt: status === 'pending' ? at : null };
    const isRevoked = status === 'revoked';
    // A wish that was refused is in no list yet, however late the look.
    const isOld = wish.state === 'FAILED' ? isOlder(wish, at) : isBefore(wish, at, clock());
    if (isOld || (isRevoked && isOwnEnd(wish, since, clock()))) return null;
    return stands(state, raw, isRevoked ? accessRevoked(why) : rejection(why));
  }

  async function create(ask: Ask, questions: readonly Question[], answers: Map<ProgramWish, WishAnswer>) {
    const again: Question[] = [];
    await sendAll(questions, {
      most: CREATED_AT_ONCE,
      narrowing,
      async send(some) {
        const asked = some.map(({ vin, names }) => ({ vin, brand: names[0] }));
        return (await pace.turn()) ?? ask({ method: 'POST', url: vehicles, body: { vehicles: asked } });
      },
      blames,
      note(sent, answer) {
        const made = readOk(creation, answer);
        const byVin = new Map(made?.vehicles.map((one) => [one.vin, one]));
        for (const question of sent) {
          const { vin, names, wishes } = question;
          const one = byVin.get(vin);
          const isOther = one?.status === 'error' && mentionsBrand(one.description);
          // Of brands that are all refused the last is kept: there is none beyond it.
          const brand = (isOther && candidatesOf(vin).at(-1)) || names[0];
          if (isOther && names.length > 1) again.push({ ...question, names: names.slice(1) });
          else for (const wish of wishes) answers.set(wish, made ? createdOf(one, brand) : failure(answer));
        }
      },
    });
    if (again.length > 0) await create(ask, again, answers);
  }

  async function revoke(ask: Ask, { vin }: ProgramWish): Promise<WishAnswer> {
    const answer = (await pace.turn()) ?? (await ask({ method: 'DELETE', url: `${vehicles}/${vin}` }));
    if (answer.outcome === 'NO_ANSWER') return answer;
    const { status, body } = answer;
    if (readOk(end, answer)?.vin === vin) return stands('ENDING', body);
    // Without its errors, the answer is that of a server in between.
    const words = refusal.safeParse(body).data;
    if (status === 404 && words !== undefined) return stands('ENDED', body);
    if (status === 422 && words) return stands('ENDING', body, /1 day/i.test(words) ? tooEarly : notCancelled);
    if (status === 409 && words) return stands(/already removed/i.test(words) ? 'ENDED' : 'ENDING', body);
    return failure(answer);
  }
  const isMisnamed: Activator['isMisnamed'] = (w) => mentionsBrand(w.reason?.message) && namesOf(w, w.brand).length > 0;
  return { service: 'CLEARANCES', brands: makersOf(known), packs: { '*': [''] }, lookDelays, activate, isMisnamed };
}

function createdOf(made: z.output<typeof cleared> | undefined, brand?: string): WishAnswer {
  if (!made) return unreadable(null);
  const { status, description } = made;
  if (status === 'error') {
    const why = mentionsBrand(description) ? brandRefused(brand, description) : refused(description);
    return { ...stands('FAILED', made, /\bvin\b/i.test(description ?? '') ? vinRefused : why), inDoubt: true, brand };
  }
  const meaning = meanings[status];
  if (!meaning) return unreadable(made);
  // A clearance that has ended is about to begin again.
  const state = status === 'revoked' ? 'PENDING' : (meaning[0] ?? 'PENDING');
  return { ...stands(state, made, state === 'REJECTED' ? rejection(description) : null), brand };
}

/** The answer to a request that was not carried out. */
function failure(answer: Answer): WishAnswer {
  if (answer.outcome === 'NO_ANSWER' || answer.status !== 403) return unanswered(answer);
  // The credentials have no fleet, or not the scope fleet:clearance.
  const { status, body } = answer;
  return new ProviderError('CREDENTIALS', { raw: { status, body } }).answer;
}
