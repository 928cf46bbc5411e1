import { LRUCache } from 'lru-cache';
import { type BrandId, brandIds, brands, candidateBrands, wmiTable } from './brands.ts';
import { type Host, type Places, type Trace, untraced } from './host.ts';
import {
  type Activator,
  type Answered,
  type Asker,
  type NoAnswer,
  type Provider,
  type ProviderAnswer,
  type Reason,
  reason,
  unknowns,
} from './provider.ts';
import { servedBrands } from './served-brands.ts';
import { openServiceHealth, type ServiceFault } from './service-health.ts';

/** An answer that holds until the next question. `reason` is null only where the vehicle is eligible. */
type Verified = Omit<Answered, 'outcome' | 'eligible'> & {
  status: 'ELIGIBLE' | 'INELIGIBLE' | 'UNSUPPORTED' | 'FAILED';
  /** The brand that answered; the likeliest one where none did. */
  manufacturer: string | null;
  /** Whether a provider answered; without one the vehicle is UNSUPPORTED. */
  asked: boolean;
  /** The provider that gave the answer. */
  provider?: string;
};

export type Verification = Verified | (Omit<NoAnswer, 'outcome'> & { status: 'PENDING' });

export type Manufacturers = ReturnType<typeof manufacturersOf>;

interface Options {
  onClose?: () => Promise<void>;
  clock?: () => number;
  /** Hears of faults of providers' services. */
  tell?: ((fault: ServiceFault) => void) | undefined;
}

/** Finds a vehicle's manufacturer, and the provider that answers for it. VINs are normalised already. */
export function manufacturersOf(
  providers: readonly Provider[],
  { onClose, trace = untraced, ...telling }: Options & Pick<Host, 'trace'> = {},
) {
  const byBrand = providerOfEach(providers);
  const { served, servable } = servedBrands(byBrand);
  const activators = providers.filter((one) => one.activator).toSorted((a, b) => b.preference - a.preference);
  /** The provider that carries out contracts for each brand, with the programs of packs. */
  const offers = Object.fromEntries(
    brandIds.flatMap((id) => {
      const provider = activators.find(({ activator }) => activator?.brands.has(id));
      return provider ? [[id, { provider: provider.id, packs: provider.activator?.packs ?? {} }]] : [];
    }),
  );
  const all = brandIds.map((id) => ({
    id,
    name: brands[id],
    provider: byBrand.get(id)?.id ?? null,
    supported: byBrand.has(id),
    contracts: id in offers,
    wmis: wmiTable.filter((row) => row.brands.includes(id)).map((row) => row.wmi),
  }));
  const lastMinutes = new Map(providers.map((provider) => [provider, new LastMinute()]));
  const health = new Map(providers.map((provider) => [provider, openServiceHealth(provider, telling)]));
  const watched = new Map(
    activators.flatMap((provider) => {
      const { activator } = provider;
      if (!activator) return [];
      async function activate(...[wishes, asker]: Parameters<Activator['activate']>) {
        const answers = (await activator?.activate(wishes, asker)) ?? [];
        for (const answer of answers) health.get(provider)?.note(activator?.service ?? 'ORDERS', answer);
        return answers;
      }
      return [[provider.id, { ...activator, activate }] as const];
    }),
  );

  /** One attempt. `remembered` is the brand that answered last time; it is asked first. */
  async function verify(vin: string, remembered?: string | null, asker?: Asker): Promise<Verification> {
    const candidates = candidateBrands(vin);
    const rejections: unknown[] = [];
    const askable = served.get(candidates) ?? [];
    for (const { id, provider } of askable.toSorted(
      (a, b) => Number(b.id === remembered) - Number(a.id === remembered),
    )) {
      const answer = await ask(trace, provider, vin, id, asker);
      if (answer.outcome !== 'NO_ANSWER' || answer.asked) lastMinutes.get(provider)?.add();
      health.get(provider)?.note('ELIGIBILITY', answer);
      if (answer.outcome !== 'BRAND_REFUSED') return verification(answer, id, provider.id);
      rejections.push(answer.raw);
    }
    const [manufacturer = null] = candidates;
    const [reason, raw] = rejections.length > 0 ? [brandsRejected, rejections] : [unsupported(manufacturer), null];
    return { ...unknowns, status: 'UNSUPPORTED', manufacturer, reason, raw, asked: rejections.length > 0 };
  }

  return {
    supported: [...byBrand.keys()],
    servable,
    list: () => [...all],
    supports: (vin: string) => Boolean(served.get(candidateBrands(vin))?.length),
    /** The likeliest brand, or null when the VIN's maker is unknown. */
    manufacturerOf: (vin: string) => candidateBrands(vin)[0] ?? null,
    unsupported,
    noActivation,
    offers,
    activatorOf: (id: string): Activator | undefined => watched.get(id),
    verify,
    channels: channelsOf(providers, byBrand),
    /** The state of each provider here, with the number of questions within the last minute. */
    state: () =>
      providers.map((provider) => ({
        id: provider.id,
        asked: lastMinutes.get(provider)?.count ?? 0,
        services: health.get(provider)?.state() ?? [],
        ...provider.state(),
      })),
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
      await onClose?.();
    },
  };
}

const SECONDS = 60;

/** Counts events of the last minute, to the second. */
class LastMinute {
  readonly #counts = new LRUCache<number, number>({ max: SECONDS, ttl: SECONDS * 1000, noUpdateTTL: true });

  add(): void {
    const second = Math.floor(performance.now() / 1000);
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + 1);
  }

  get count(): number {
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }
}

function providerOfEach(providers: readonly Provider[]): Map<BrandId, Provider> {
  const byPreference = providers.toSorted((a, b) => b.preference - a.preference);
  return new Map(
    brandIds.flatMap((id) => {
      const provider = byPreference.find((one) => one.brands.has(id));
      return provider ? [[id, provider] as const] : [];
    }),
  );
}

/** The reason of a vehicle of this brand (null: unknown) that no provider answers for. */
const unsupported = (brand: string | null): Reason => (brand === null ? makerUnknown : noProvider);

/** Asks as a trace of its own: one turn of a job may ask about thousands of vehicles. */
function ask(
  trace: Trace,
  provider: Provider,
  vin: string,
  brand: BrandId,
  asker?: Asker,
): ProviderAnswer | Promise<ProviderAnswer> {
  const labels = { 'fleet_gateway.provider': provider.id };
  return trace(
    () => ({
      name: `ask ${provider.id}`,
      place: 'apart',
      attributes: {
        ...labels,
        'fleet_gateway.manufacturer': brand,
        'fleet_gateway.vin': `${vin.slice(0, 3)}…${vin.slice(-4)}`,
      },
      measured: { metric: 'fleet_gateway.provider.call.duration', labels },
    }),
    () => provider.verify(vin, brand, asker),
    ({ outcome, ...answer }) => ({
      'fleet_gateway.outcome': outcome,
      ...('reason' in answer && answer.reason && { 'fleet_gateway.reason': answer.reason.code }),
    }),
  );
}

const makerUnknown = reason('MANUFACTURER_UNKNOWN', 'The manufacturer cannot be told from this VIN.');
const noProvider = reason('MANUFACTURER_NOT_SUPPORTED', 'No configured provider answers for this manufacturer.');
const noActivation = reason(
  'MANUFACTURER_NOT_SUPPORTED',
  'No configured provider carries out contracts for this manufacturer.',
);
const brandsRejected = reason(
  'MANUFACTURER_NOT_SUPPORTED',
  'The provider does not answer for the brands this VIN may be of.',
);

function verification(
  answer: Exclude<ProviderAnswer, { outcome: 'BRAND_REFUSED' }>,
  manufacturer: BrandId,
  provider: string,
): Verification {
  if (answer.outcome === 'NO_ANSWER') {
    const { outcome: _, ...unanswered } = answer;
    return { ...unanswered, status: 'PENDING' };
  }
  if (answer.outcome === 'FAILED') {
    const { reason, raw } = answer;
    return { ...unknowns, status: 'FAILED', manufacturer, reason, raw, asked: true, provider };
  }
  const { outcome: _, eligible, ...answered } = answer;
  return { ...answered, status: eligible ? 'ELIGIBLE' : 'INELIGIBLE', manufacturer, asked: true, provider };
}

/** Of vehicles that nobody can be asked about, as many are looked at in a turn. */
const nobodysPlaces: Pick<Places, 'room' | 'inTurn' | 'canTakeMore'> = {
  room: () => 15,
  inTurn: (holders) => [...holders],
  canTakeMore: true,
};

/** For each provider, its free places and the brands whose vehicles to claim. Brands here are the likeliest of their VINs. */
function channelsOf(providers: readonly Provider[], byBrand: ReadonlyMap<BrandId, Provider>) {
  /** By likeliest brand, the brand that is asked about first. */
  const askedFirst = new Map(
    brandIds.flatMap((id) => {
      const candidates = [id, ...wmiTable.filter((row) => row.brands[0] === id).flatMap((row) => row.brands)];
      const first = candidates.find((one) => byBrand.has(one));
      return first ? [[id, first] as const] : [];
    }),
  );
  const providerOf = (id: BrandId) => byBrand.get(askedFirst.get(id) ?? id);
  // Vehicles that nobody can be asked about are looked at all the same when they come due.
  if (providers.length === 0) return [{ capacity: nobodysPlaces, elsewhere: [], holds: () => [] }];
  return providers.map((provider) => ({
    capacity: provider.capacity,
    /** Brands of vehicles that other providers answer for. */
    elsewhere: brandIds.filter((id) => (providerOf(id) ?? provider) !== provider),
    /** Brands that are held back for so many seconds, and why. */
    holds: () =>
      provider.state().holds.map(({ brand, ...hold }) => ({
        ...hold,
        brands: brandIds.filter((id) => providerOf(id) === provider && (!brand || askedFirst.get(id) === brand)),
      })),
  }));
}
