import { type BrandId, clearanceBrands, eligibilityName, highMobilityEligibilityBrands } from './brands.ts';
import { HighMobility } from './high-mobility.ts';
import type { Host } from './host.ts';
import { Mercedes } from './mercedes.ts';
import { type Provider, SANDBOX } from './provider.ts';
import { type Manufacturers, manufacturersOf } from './registry.ts';
import { openSandbox, sandboxBrands } from './sandbox.ts';
import type { ServiceFault } from './service-health.ts';
import type { Refusal } from './upstream.ts';

/** The brands whose eligibility High Mobility can be asked about, by their own name or another. */
const checkedBrands = clearanceBrands.filter((id) =>
  highMobilityEligibilityBrands.some((one) => one === eligibilityName(id)),
);
/** The sandbox decides within seconds. */
const SANDBOX_LOOKS = [1, 2, 5, 10];

type OfProvider = 'URL' | 'CLIENT_ID' | 'CLIENT_SECRET';

/** The settings that name providers. */
type ProviderSettings = Partial<
  Readonly<Record<`${'HIGH_MOBILITY' | 'MERCEDES'}_${OfProvider}` | 'MERCEDES_TOKEN_URL', string | undefined>>
> & {
  HIGH_MOBILITY_BRANDS?: (typeof clearanceBrands)[number][] | undefined;
  MERCEDES_SCOPE?: string | undefined;
  MERCEDES_PACKS?: Readonly<Record<string, string[]>> | undefined;
  PROVIDER_CONCURRENCY: number;
  PROVIDER_TIMEOUT_SECONDS: number;
  NODE_USE_ENV_PROXY?: boolean | undefined;
  SANDBOX?: boolean | undefined;
};

/** The providers that the settings name; without any, the sandbox, on a port of its own of this machine, unless it is off. */
export async function openManufacturers(
  config: ProviderSettings,
  host: Host,
  clock = () => Date.now(),
  tell?: (fault: Refusal | ServiceFault) => void,
): Promise<Manufacturers> {
  const { PROVIDER_CONCURRENCY: concurrency, PROVIDER_TIMEOUT_SECONDS: seconds, NODE_USE_ENV_PROXY: byProxy } = config;
  const timeoutMs = seconds * 1000;
  const common = { ...host, concurrency, timeoutMs, byProxy: byProxy ?? false, clock, ...(tell && { tell }) };
  const providers: Provider[] = [];
  const serves = (id: BrandId) => config.HIGH_MOBILITY_BRANDS?.some((one) => one === id) ?? true;
  if (config.HIGH_MOBILITY_URL && config.HIGH_MOBILITY_CLIENT_ID && config.HIGH_MOBILITY_CLIENT_SECRET) {
    providers.push(
      new HighMobility({
        url: config.HIGH_MOBILITY_URL,
        clientId: config.HIGH_MOBILITY_CLIENT_ID,
        clientSecret: config.HIGH_MOBILITY_CLIENT_SECRET,
        brands: checkedBrands.filter(serves),
        clearance: { brands: clearanceBrands.filter(serves) },
        ...common,
      }),
    );
  }
  if (config.MERCEDES_URL && config.MERCEDES_TOKEN_URL && config.MERCEDES_CLIENT_ID && config.MERCEDES_CLIENT_SECRET) {
    providers.push(
      new Mercedes({
        url: config.MERCEDES_URL,
        tokenUrl: config.MERCEDES_TOKEN_URL,
        clientId: config.MERCEDES_CLIENT_ID,
        clientSecret: config.MERCEDES_CLIENT_SECRET,
        ...(config.MERCEDES_SCOPE && { scope: config.MERCEDES_SCOPE }),
        packs: config.MERCEDES_PACKS ?? {},
        ...common,
      }),
    );
  }
  if (providers.length > 0 || !config.SANDBOX) return manufacturersOf(providers, { ...host, clock, tell });
  const sandbox = await openSandbox();
  // Slow answers take 10 s of a place each: there are enough places for the others not to notice.
  const client = new HighMobility({
    ...common,
    ...sandbox,
    id: SANDBOX,
    brands: sandboxBrands,
    clearance: { brands: clearanceBrands, lookDelays: SANDBOX_LOOKS },
    concurrency: 256,
    byProxy: false,
  });
  return manufacturersOf([client], { ...host, clock, tell, onClose: () => sandbox.close() });
}
