import type { Config } from '../config.ts';
import { type BrandId, highMobilityBrands } from './brands.ts';
import { HighMobility } from './high-mobility.ts';
import { Mercedes } from './mercedes.ts';
import type { Provider } from './provider.ts';
import { type Manufacturers, manufacturersOf } from './registry.ts';
import { openSandbox, sandboxBrands } from './sandbox.ts';

/** The providers the settings name; where they name none, the sandbox, on a port of its own of this machine. */
export async function openManufacturers(
  config: Config,
  clock: () => number = () => Date.now(),
): Promise<Manufacturers> {
  const narrowed = (served: readonly BrandId[]) =>
    served.filter((id) => config.HIGH_MOBILITY_BRANDS?.some((named) => named === id) ?? true);
  const timeoutMs = config.PROVIDER_TIMEOUT_SECONDS * 1000;
  const care = { concurrency: config.PROVIDER_CONCURRENCY, timeoutMs, clock };
  const providers: Provider[] = [];
  if (config.HIGH_MOBILITY_URL && config.HIGH_MOBILITY_CLIENT_ID && config.HIGH_MOBILITY_CLIENT_SECRET) {
    providers.push(
      new HighMobility({
        url: config.HIGH_MOBILITY_URL,
        clientId: config.HIGH_MOBILITY_CLIENT_ID,
        clientSecret: config.HIGH_MOBILITY_CLIENT_SECRET,
        brands: narrowed(highMobilityBrands),
        ...care,
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
        ...care,
      }),
    );
  }
  if (providers.length > 0) return manufacturersOf(providers);
  const sandbox = await openSandbox();
  // Slow answers take 10 s of a place each: there are enough places for the others not to notice.
  const client = new HighMobility({
    ...sandbox,
    id: 'sandbox',
    brands: narrowed(sandboxBrands),
    concurrency: 256,
    timeoutMs,
    clock,
  });
  return manufacturersOf([client], () => sandbox.close());
}
