import { z } from 'zod';
import {
  type Answer,
  type Ask,
  type AskFor,
  chunksOf,
  LOOKS,
  Narrowing,
  readOk,
  sendAll,
  stands,
  unexpected,
  unreadable,
} from './activation.ts';
import type { BrandId } from './brands.ts';
import type { Reply } from './exchange.ts';
import {
  type Activator,
  type Asker,
  type ProgramAnswer,
  type ProgramWish,
  ProviderError,
  type Reason,
  reason,
  type WishAnswer,
} from './provider.ts';

/** The brands of `FleetVehicle` in High Mobility's Fleet Clearance API, which has more than the eligibility check. */
export const clearanceBrands = [
  ...(['alfaromeo', 'audi', 'bmw', 'citroen', 'cupra', 'dacia', 'ds', 'fiat', 'ford', 'jeep', 'kia', 'lexus'] as const),
  ...(['maserati', 'mercedes-benz', 'mini', 'opel', 'peugeot', 'polestar', 'porsche', 'renault', 'seat'] as const),
  ...(['skoda', 'tesla', 'toyota', 'vauxhall', 'volkswagen', 'volvo-cars'] as const),
] as const satisfies readonly BrandId[];

/** Vehicles of a request that creates clearances. */
const CREATED_AT_ONCE = 1000;
/** VINs of a filter, which is a part of the address: about 6 kB. */
const LOOKED_AT_ONCE = 200;

const text = z.string().nullish().catch(null);
const cleared = z.object({ vin: z.string(), status: z.string(), description: text });
const creation = z.object({ vehicles: z.array(cleared) });
const changelog = z.array(z.object({ status: z.string(), reason: text })).catch([]);
const listed = z.array(cleared.extend({ changelog }));
const errors = z.object({ errors: z.array(z.object({ title: text, detail: text, source: text })) });

/** Vehicles of a good request are refused one by one; the whole request without a name of what is wrong. */
const blames = ({ status }: Reply) => (status === 422 ? () => false : null);

type Cleared = { status: string; why?: string | null | undefined; raw: unknown };

/** What a status of `FleetVin` means where a clearance is wanted, and where it is not; null: it must be asked for. */
const meanings: Readonly<
  Record<string, readonly [wanted: ProgramAnswer['state'] | null, unwanted: 'ENDED' | 'ENDING' | null]>
> = {
  pending: ['PENDING', null],
  approved: ['ACTIVE', null],
  rejected: ['REJECTED', 'ENDED'],
  // A clearance that is ending can be created again when it has ended.
  revoking: ['PENDING', 'ENDING'],
  canceling: ['PENDING', 'ENDING'],
  revoked: [null, 'ENDED'],
  canceled: [null, 'ENDED'],
};

/** What High Mobility's pages on activation say can be done, by words of the manufacturer's reason. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/privacy/i, 'Turn off the privacy mode in the vehicle’s settings, and ask again.'],
  [/consent|portal/i, 'Give consent to the vehicle in the manufacturer’s fleet portal, and ask again.'],
  [/no data|timeout/i, 'Drive the vehicle, several times if its software is old, and ask again.'],
  [/different/i, 'End the vehicle’s activation with the other fleet or provider, and ask again.'],
];

function rejection(why?: string | null): Reason {
  if (!why) return reason('ACTIVATION_REJECTED', 'The manufacturer rejected the clearance, and gave no reason.');
  const [, remedy] = remedies.find(([words]) => words.test(why)) ?? [];
  const told = remedy ? `${why.replace(/\.$/, '')}. ${remedy}` : why;
  return reason('ACTIVATION_REJECTED', `The manufacturer rejected the clearance: ${told}`);
}

export const vinRefused = reason(
  'VIN_REFUSED',
  'The manufacturer does not accept this VIN. Check it against the vehicle’s papers.',
);
const refused = (why?: string | null): Reason =>
  reason('REFUSED', `High Mobility refused to clear this vehicle${why ? `: ${why}` : '.'}`);

/** Clearances of vehicles by High Mobility's Fleet Clearance API: one for a vehicle, whatever its packs. */
export function clearances(
  askFor: AskFor,
  url: string,
  brands: Iterable<string>,
  { looks = LOOKS, clock }: { looks?: readonly number[]; clock?: () => number } = {},
): Activator {
  const narrowing = new Narrowing(clock);
  const vehicles = `${url}/v1/fleets/vehicles`;

  async function activate(wishes: readonly ProgramWish[], asker: Asker): Promise<WishAnswer[]> {
    const ask: Ask = (request) => askFor(request, asker);
    const found = await look(ask, [...new Set(wishes.map(({ vin }) => vin))]);
    const answers = new Map(wishes.map((wish) => [wish, answerOf(wish, found.get(wish.vin))]));
    const open = wishes.filter((wish) => answers.get(wish) === null);
    const created = create(
      ask,
      open.filter(({ wanted }) => wanted),
      answers,
    );
    const revoked = open
      .filter(({ wanted }) => !wanted)
      .map(async (wish) => answers.set(wish, await revoke(ask, wish)));
    await Promise.all([created, ...revoked]);
    return wishes.map((wish) => answers.get(wish) ?? unreadable(null));
  }

  /** The clearances of these VINs (getting one by one is limited to 60 calls a minute); an answer where none was read. */
  async function look(ask: Ask, vins: readonly string[]): Promise<Map<string, Cleared | WishAnswer>> {
    const found = new Map<string, Cleared | WishAnswer>();
    const read = async (some: readonly string[]) => {
      const filter = encodeURIComponent(JSON.stringify({ vin: { operator: 'in', value: some } }));
      const answer = await ask({ method: 'GET', url: `${vehicles}?filter=${filter}` });
      const list = readOk(listed, answer);
      if (!list) for (const vin of some) found.set(vin, failure(answer));
      for (const one of list ?? []) {
        const why = one.changelog.findLast(({ status }) => status === one.status)?.reason;
        found.set(one.vin, { status: one.status, why: why ?? one.description, raw: one });
      }
    };
    await Promise.all(chunksOf(vins, LOOKED_AT_ONCE).map(read));
    return found;
  }

  /** null: it must be asked for. */
  function answerOf({ wanted, asked, renewed }: ProgramWish, found?: Cleared | WishAnswer): WishAnswer | null {
    // That a list has no clearance does not confirm its end.
    if (!found) return wanted || asked ? null : stands('ENDED', null);
    if ('outcome' in found) return found;
    if (wanted && renewed && found.status === 'rejected') return null;
    const meaning = meanings[found.status];
    if (!meaning) return unreadable(found.raw);
    const state = meaning[wanted ? 0 : 1];
    return state && stands(state, found.raw, state === 'REJECTED' ? rejection(found.why) : null);
  }

  async function create(ask: Ask, wishes: readonly ProgramWish[], answers: Map<ProgramWish, WishAnswer | null>) {
    // Two companies may want the clearance of one vehicle.
    const ofVin = Map.groupBy(wishes, ({ vin }) => vin);
    const asked = [...ofVin].map(([vin, [first]]) => ({ vin, brand: first?.brand ?? '' }));
    await sendAll(asked, {
      most: CREATED_AT_ONCE,
      narrowing,
      send: (some) => ask({ method: 'POST', url: vehicles, body: { vehicles: some } }),
      blames,
      note(sent, answer) {
        const made = readOk(creation, answer);
        const byVin = new Map(made?.vehicles.map((one) => [one.vin, one]));
        for (const { vin } of sent) {
          const result = made ? createdOf(byVin.get(vin)) : failure(answer);
          for (const wish of ofVin.get(vin) ?? []) answers.set(wish, result);
        }
      },
    });
  }

  async function revoke(ask: Ask, { vin }: ProgramWish): Promise<WishAnswer> {
    const answer = await ask({ method: 'DELETE', url: `${vehicles}/${vin}` });
    if (answer.outcome === 'NO_ANSWER') return answer;
    const { status, body } = answer;
    // Without its errors, the answer is that of a server in between.
    if (status === 404 && errors.safeParse(body).success) return stands('ENDED', body);
    if (status === 200) return stands('ENDING', body);
    // 422: a pending clearance that cannot be cancelled, or not within its first day, is revoked after its decision.
    if (status === 422) return stands('ENDING', body);
    if (status === 409) return stands(/already removed/i.test(wordsOf(answer)) ? 'ENDED' : 'ENDING', body);
    return failure(answer);
  }

  return { service: 'CLEARANCES', brands: new Set(brands), packs: { '*': [''] }, looks, activate };
}

function createdOf(made?: z.output<typeof cleared>): WishAnswer {
  if (!made) return unreadable(null);
  const { status, description } = made;
  if (status === 'error')
    return stands('FAILED', made, /\bvin\b/i.test(description ?? '') ? vinRefused : refused(description));
  const meaning = meanings[status];
  if (!meaning) return unreadable(made);
  return stands(meaning[0] ?? 'PENDING', made, status === 'rejected' ? rejection(description) : null);
}

/** The answer to a request that was not carried out. */
function failure(answer: Answer): WishAnswer {
  if (answer.outcome === 'NO_ANSWER') return answer;
  const { status, body } = answer;
  if (status === 200) return unreadable(body);
  // The credentials have no fleet, or not the scope fleet:clearance.
  if (status === 403) return new ProviderError('CREDENTIALS', { raw: { status, body } }).answer;
  return unexpected(answer);
}

const wordsOf = ({ body }: Reply): string =>
  errors
    .safeParse(body)
    .data?.errors.map(({ title, detail }) => `${title} ${detail}`)
    .join(' ') ?? '';
