import { z } from 'zod';
import { type BrandId, clearanceBrands, eligibilityName } from './brands.ts';
import type { Reply } from './exchange.ts';
import { clearances } from './high-mobility-clearance.ts';
import { vinRefused } from './high-mobility-reasons.ts';
import type { Host } from './host.ts';
import { listClearances } from './listed-programs.ts';
import {
  type Activator,
  type Asker,
  type ConnectivityStatus,
  type Provider,
  type ProviderAnswer,
  type Reason,
  readAnswer,
  reason,
} from './provider.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

export interface HighMobilityOptions extends UpstreamOptions {
  /** `sandbox` where the local server answers in High Mobility's place. */
  id?: string;
  url: string;
  clientId: string;
  clientSecret: string;
  brands: Iterable<BrandId>;
  /** The brands whose vehicles it clears, and the seconds until a clearance without a decision is looked at again. */
  clearance?: { brands: Iterable<BrandId>; lookDelays?: readonly number[] };
}

const eligibility = z.object({
  eligible: z.boolean(),
  data_delivery: z.array(z.string()),
  connectivity_status: z.string().nullish(),
  primary_user_assigned: z.boolean().nullish(),
});

const text = z.string().nullish();
/** An error points at a field by its name or as JSON:API does. */
const source = z.union([
  text,
  z.object({ pointer: text, parameter: text }).transform(({ pointer, parameter }) => pointer ?? parameter),
]);
const rejection = z.object({ source: source.catch(null), title: text.catch(null), detail: text.catch(null) });
const rejections = z.object({ errors: z.array(rejection.catch({})) });

const deliveries = { pull: 'PULL', push: 'PUSH' } as const;

/** Reasons of a vehicle that is not eligible: High Mobility itself gives none. */
const ineligible = {
  deactivated: reason(
    'CONNECTIVITY_DEACTIVATED',
    'The vehicle’s connectivity is deactivated. Its driver or holder can activate it in the vehicle or its app.',
  ),
  userMissing: reason(
    'PRIMARY_USER_MISSING',
    'The vehicle has no primary user. Its driver or holder can be assigned in the manufacturer’s app.',
  ),
  unexplained: reason('NOT_ELIGIBLE', 'The manufacturer says that this vehicle is not eligible, and gave no reason.'),
};

const rejected = reason('REFUSED', 'The manufacturer’s service refused to check this vehicle.');

/** High Mobility's eligibility check: one VIN and brand per call, answered at once. */
export class HighMobility extends Upstream implements Provider {
  readonly id: string;
  readonly brands: ReadonlySet<string>;
  readonly preference = 0;
  readonly activator: Activator;
  readonly #url: string;

  constructor({ id = 'high-mobility', url, clientId, clientSecret, brands, ...options }: HighMobilityOptions & Host) {
    const credentials = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    super({ method: 'POST', url: `${url}/v1/access_tokens`, body: credentials }, options);
    this.id = id;
    this.brands = new Set(brands);
    this.#url = url;
    const { brands: cleared, ...schedule } = options.clearance ?? { brands: clearanceBrands };
    this.activator = {
      ...clearances((request, asker) => this.ask('', request, asker), url, cleared, {
        ...schedule,
        clock: options.clock,
      }),
      list: () => listClearances((list) => this.list(list), url),
    };
  }

  askedAs(brand: string): string {
    return eligibilityName(brand);
  }

  async verify(vin: string, brand: string, asker?: Asker): Promise<ProviderAnswer> {
    const body = { vin, brand: this.askedAs(brand) };
    const question = { method: 'POST', url: `${this.#url}/v1/eligibility`, body } as const;
    const reply = await this.ask(brand, question, asker);
    if (reply.outcome === 'NO_ANSWER') return reply;
    return this.#read(reply, vin);
  }

  #read(reply: Reply, vin: string): ProviderAnswer {
    const { status, body } = reply;
    if (status === 200) return readAnswer(eligibility, body, vin, answered);
    const field = status === 422 || status === 400 ? refusedField(body) : null;
    // The VIN may be right for another brand.
    if (field === 'brand') return { outcome: 'BRAND_REFUSED', raw: body };
    if (field === 'vin') return { outcome: 'FAILED', reason: vinRefused, raw: body };
    const unexpected = this.unexpected(reply);
    return status === 422 ? { outcome: 'FAILED', reason: rejected, raw: body } : unexpected;
  }
}

function answered(facts: z.output<typeof eligibility>) {
  const { eligible, data_delivery, connectivity_status, primary_user_assigned } = facts;
  const connectivityStatus = connectivityOf(connectivity_status);
  return {
    eligible,
    // An unknown way of delivery does not spoil the answer.
    dataDelivery: Object.entries(deliveries).flatMap(([wire, ours]) => (data_delivery.includes(wire) ? [ours] : [])),
    connectivityStatus,
    primaryUserAssigned: primary_user_assigned ?? null,
    reason: eligible ? null : reasonFor(connectivityStatus, primary_user_assigned),
  };
}

function connectivityOf(wire: string | null | undefined): ConnectivityStatus | null {
  if (!wire) return null;
  return wire === 'activated' ? 'ACTIVATED' : wire === 'deactivated' ? 'DEACTIVATED' : 'UNKNOWN';
}

function reasonFor(connectivity: ConnectivityStatus | null, userAssigned: boolean | null | undefined): Reason {
  if (connectivity === 'DEACTIVATED') return ineligible.deactivated;
  return userAssigned === false ? ineligible.userMissing : ineligible.unexplained;
}

/** A refusal names a field by its `source`, or by the words of its text where there is none; the brand counts before the VIN. */
function refusedField(body: unknown): 'brand' | 'vin' | null {
  const errors = rejections.safeParse(body).data?.errors ?? [];
  const named = errors.map(({ source, title, detail }) => source ?? `${title ?? ''} ${detail ?? ''}`).join(' ');
  if (hasWord(named, /^brands?$/)) return 'brand';
  return hasWord(named, /^vins?$/) ? 'vin' : null;
}

/** Whether a text has the word: `/data/vin`, `vehicle_vin` and `vehicleVin` have `vin`, `province` does not. */
const hasWord = (text: string, word: RegExp): boolean =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((part) => word.test(part));
