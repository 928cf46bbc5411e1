export { clearanceBrands } from './brands.ts';
export { openAgent, secondsToWait } from './exchange.ts';
export { openManufacturers } from './open-manufacturers.ts';
export {
  type Activator,
  type Asker,
  type ConnectivityStatus,
  type DataDelivery,
  type ListedProgram,
  notAsked,
  type ProgramAnswer,
  type ProgramWish,
  type Reason,
  reason,
  reasonCodes,
  SANDBOX,
  type WishAnswer,
} from './provider.ts';
export type { Manufacturers, Verification } from './registry.ts';
export { type ProviderService, providerServices } from './service-health.ts';
