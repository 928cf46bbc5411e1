import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Provider, ProviderAnswer, Reason, WishAnswer } from './provider.ts';

/** What a provider does for the gateway. They fail apart: one may be well while another is dead. */
export const providerServices = ['ELIGIBILITY', 'CLEARANCES', 'ORDERS'] as const;
export type ProviderService = (typeof providerServices)[number];

/** A service whose answers have been faults since then, and the last fault's reason; both null while it is well. */
interface ServiceState {
  service: ProviderService;
  since: Date | null;
  reason: Reason | null;
}

/** A fault of a provider's service, for its operator. */
export type ServiceFault = { provider: string; service: ProviderService; code: string; status: number | null };

/** Faults in a row from which a service counts as failing, for so long after the last: what fails is asked again within 21 minutes. */
const FAILS_AFTER = 5;
const FAILING_MS = 1_800_000;
const REPORT_MS = 60_000;

/** A pause that a provider asks for, and a vehicle that it does not know yet, are no faults of a service. */
const faults: ReadonlySet<string> = new Set([
  ...['PROVIDER_TIMEOUT', 'PROVIDER_UNREACHABLE', 'PROVIDER_ERROR', 'PROVIDER_BAD_ANSWER'],
  ...['PROVIDER_CREDENTIALS', 'PROVIDER_UNEXPECTED'],
]);
const withStatus = z.object({ status: z.number() });

type Options = { clock?: () => number; tell?: ((fault: ServiceFault) => void) | undefined };

/** Learns from the answers of a provider's services how they are; each fault is told once a minute. */
export function openServiceHealth(provider: Provider, { clock = Date.now, tell = () => {} }: Options) {
  const reported = new LRUCache<string, true>({ max: 100, ttl: REPORT_MS, perf: { now: clock } });
  const services: ProviderService[] = ['ELIGIBILITY', ...(provider.activator ? [provider.activator.service] : [])];
  /** Looks may be answered while orders are not. */
  const begin = () =>
    [false, true].map((ordered) => ({ ordered, inRow: 0, first: 0, last: 0, reason: null as Reason | null }));
  const health = new Map(services.map((service) => [service, begin()]));

  function note(service: ProviderService, answer: ProviderAnswer | WishAnswer): void {
    const isOrder = 'ordered' in answer && answer.ordered === true;
    const one = health.get(service)?.find(({ ordered }) => ordered === isOrder);
    if (!one) return;
    if (answer.outcome !== 'NO_ANSWER') {
      // What was known without asking says nothing; an order may be taken without a word.
      if (isOrder || answer.raw !== null) Object.assign(one, { inRow: 0, reason: null });
      return;
    }
    const { asked, reason, raw } = answer;
    if (!asked || !reason || !faults.has(reason.code)) return;
    if (clock() >= one.last + FAILING_MS) one.inRow = 0;
    if (one.inRow === 0) one.first = clock();
    Object.assign(one, { inRow: one.inRow + 1, last: clock(), reason });
    const key = `${service} ${reason.code}`;
    if (reported.has(key)) return;
    reported.set(key, true);
    tell({ provider: provider.id, service, code: reason.code, status: withStatus.safeParse(raw).data?.status ?? null });
  }

  return {
    note,
    state: (): ServiceState[] =>
      [...health].map(([service, both]) => {
        const failing = both.find(({ inRow, last }) => inRow >= FAILS_AFTER && clock() < last + FAILING_MS);
        return { service, since: failing ? new Date(failing.first) : null, reason: failing?.reason ?? null };
      }),
  };
}
