import { traced } from '../telemetry/telemetry.ts';
import { type BrandId, brandIds, brands, candidateBrands, wmiTable } from './brands.ts';
import { LastMinute } from './exchange.ts';
import type { Asker, Eligible, NoAnswer, Provider, ProviderAnswer, ProviderState, Reason } from './provider.ts';
import { type Lane, lanesOf } from './slots.ts';

interface Manufacturer {
  /** Slug: `mercedes-benz`. */
  id: string;
  name: string;
  /** Slug of the provider that answers for it. */
  provider: string | null;
  supported: boolean;
  wmis: string[];
}

/** An answer that stands until it is asked for again. `reason` is null only where the vehicle is eligible. */
type Verified = Omit<Eligible, 'outcome' | 'eligible'> & {
  status: 'ELIGIBLE' | 'INELIGIBLE' | 'UNSUPPORTED' | 'FAILED';
  /** The brand that answered; the likeliest one where none did. */
  manufacturer: string | null;
};

/**
 * No answer yet. `retryAfter` is in seconds; `asked` false means that nothing was sent, so no attempt was spent; without
 * a reason the one before still holds.
 */
type Unanswered = Omit<NoAnswer, 'outcome'> & { status: 'PENDING' };

export type Verification = Verified | Unanswered;

/** Who makes which vehicle, and who can be asked about it. VINs are normalised already. */
export interface Manufacturers {
  list(): Manufacturer[];
  /** The brands that a configured provider answers for. */
  supported: readonly BrandId[];
  /** Whether a configured provider answers for at least one of the VIN's brands. */
  supports(vin: string): boolean;
  /** The likeliest brand, or null when the VIN's maker is unknown. */
  manufacturerOf(vin: string): string | null;
  /** Why nobody can be asked about a vehicle of this brand (null: unknown), where `supports` is false. */
  unsupported(brand: string | null): Reason;
  /** One attempt. `remembered` is the brand that answered last time; it is asked first. */
  verify(vin: string, remembered?: string | null, asker?: Asker): Promise<Verification>;
  lanes: readonly Lane[];
  /** How each provider fares here, and how many questions it was asked within the last minute. */
  state(): ({ id: string; asked: number } & ProviderState)[];
  close(): Promise<void>;
}

/** The registry over these providers; `onClose` runs after their connections are closed. */
export function manufacturersOf(
  providers: readonly Provider[],
  onClose: () => Promise<void> = async () => {},
): Manufacturers {
  const byBrand = providerOfEach(providers);
  const all = listOf(byBrand);
  const asked = new Map(providers.map((provider) => [provider, new LastMinute()]));
  return {
    supported: [...byBrand.keys()],
    list: () => structuredClone([...all]),
    supports: (vin) => candidateBrands(vin).some((id) => byBrand.has(id)),
    manufacturerOf: (vin) => candidateBrands(vin)[0] ?? null,
    unsupported,
    verify: (vin, remembered, asker) => verify({ byBrand, asked }, vin, remembered, asker),
    lanes: lanesOf(providers, byBrand),
    state: () =>
      providers.map((provider) => ({ id: provider.id, asked: asked.get(provider)?.count ?? 0, ...provider.state() })),
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
      await onClose();
    },
  };
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

const listOf = (byBrand: ReadonlyMap<BrandId, Provider>): Manufacturer[] =>
  brandIds.map((id) => ({
    id,
    name: brands[id],
    provider: byBrand.get(id)?.id ?? null,
    supported: byBrand.has(id),
    wmis: wmiTable.filter((row) => row.brands.includes(id)).map((row) => row.wmi),
  }));

const unsupported = (brand: string | null): Reason => (brand === null ? makerUnknown : noProvider);

interface Asked {
  byBrand: ReadonlyMap<BrandId, Provider>;
  asked: ReadonlyMap<Provider, LastMinute>;
}

async function verify(
  { byBrand, asked }: Asked,
  vin: string,
  remembered?: string | null,
  asker?: Asker,
): Promise<Verification> {
  const candidates = candidateBrands(vin);
  const rejections: unknown[] = [];
  for (const id of candidates.toSorted((a, b) => Number(b === remembered) - Number(a === remembered))) {
    const provider = byBrand.get(id);
    if (!provider) continue;
    const answer = await ask(provider, vin, id, asker);
    if (answer.outcome !== 'NO_ANSWER' || answer.asked) asked.get(provider)?.add();
    if (answer.outcome !== 'BRAND_REFUSED') return verification(answer, id);
    rejections.push(answer.raw);
  }
  return {
    ...unknowns,
    status: 'UNSUPPORTED',
    manufacturer: candidates[0] ?? null,
    reason: rejections.length === 0 ? unsupported(candidates[0] ?? null) : brandsRejected,
    raw: rejections.length === 0 ? null : rejections,
  };
}

/** Asks as a trace of its own: one turn of a job may ask about thousands of vehicles. */
function ask(provider: Provider, vin: string, brand: BrandId, asker?: Asker): ProviderAnswer | Promise<ProviderAnswer> {
  const labels = { 'fleet_gateway.provider': provider.id };
  return traced(
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

const unknowns = { dataDelivery: [], connectivityStatus: null, primaryUserAssigned: null };

const makerUnknown: Reason = {
  code: 'MANUFACTURER_UNKNOWN',
  message: 'The manufacturer cannot be told from this VIN.',
  actor: 'CUSTOMER',
  retryable: false,
};

const noProvider: Reason = {
  code: 'MANUFACTURER_NOT_SUPPORTED',
  message: 'No configured provider answers for this manufacturer.',
  actor: 'OPERATOR',
  retryable: false,
};

const brandsRejected: Reason = {
  code: 'MANUFACTURER_NOT_SUPPORTED',
  message: 'The provider does not answer for the brands this VIN may be of.',
  actor: 'OPERATOR',
  retryable: false,
};

function verification(answer: Exclude<ProviderAnswer, { outcome: 'BRAND_REFUSED' }>, brand: BrandId): Verification {
  const { raw, reason } = answer;
  switch (answer.outcome) {
    case 'NO_ANSWER':
      return { status: 'PENDING', reason: answer.reason, retryAfter: answer.retryAfter, asked: answer.asked, raw };
    case 'FAILED':
      return { ...unknowns, status: 'FAILED', manufacturer: brand, reason, raw };
    case 'ANSWERED': {
      const { eligible, dataDelivery, connectivityStatus, primaryUserAssigned } = answer;
      const status = eligible ? 'ELIGIBLE' : 'INELIGIBLE';
      return { status, manufacturer: brand, dataDelivery, connectivityStatus, primaryUserAssigned, reason, raw };
    }
  }
}
