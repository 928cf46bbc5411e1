import { z } from 'zod';
import type { BrandId } from './brands.ts';
import { Fault } from './fault.ts';
import type { ConnectivityStatus, Provider, ProviderAnswer, Reason } from './provider.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

export interface HighMobilityOptions extends UpstreamOptions {
  /** `sandbox` where the local server answers in High Mobility's place. */
  id?: string;
  url: string;
  clientId: string;
  clientSecret: string;
  brands: Iterable<BrandId>;
}

const eligibility = z.object({
  eligible: z.boolean(),
  data_delivery: z.array(z.string()),
  connectivity_status: z.string().nullish(),
  primary_user_assigned: z.boolean().nullish(),
});

const refusal = z.object({
  errors: z.array(
    z.object({ title: z.string().nullish(), source: z.string().nullish(), detail: z.string().nullish() }),
  ),
});

const deliveries = new Map([
  ['pull', 'PULL'],
  ['push', 'PUSH'],
] as const);

/** Reasons we can tell for a vehicle that is not eligible: High Mobility itself gives none. */
const ineligible = {
  deactivated: {
    code: 'CONNECTIVITY_DEACTIVATED',
    message:
      'The vehicle’s connectivity is deactivated. Its driver or holder can activate it in the vehicle or its app.',
    actor: 'CUSTOMER',
    retryable: true,
  },
  userMissing: {
    code: 'PRIMARY_USER_MISSING',
    message: 'The vehicle has no primary user. Its driver or holder can be assigned in the manufacturer’s app.',
    actor: 'CUSTOMER',
    retryable: true,
  },
  unexplained: {
    code: 'NOT_ELIGIBLE',
    message: 'The manufacturer says that this vehicle is not eligible, and gave no reason.',
    actor: 'MANUFACTURER',
    retryable: true,
  },
} as const satisfies Record<string, Reason>;

const vinRefused: Reason = {
  code: 'VIN_REFUSED',
  message: 'The manufacturer does not accept this VIN. Check it against the vehicle’s papers.',
  actor: 'CUSTOMER',
  retryable: false,
};

const refused: Reason = {
  code: 'REFUSED',
  message: 'The manufacturer’s service refused to check this vehicle.',
  actor: 'MANUFACTURER',
  retryable: false,
};

/** High Mobility's eligibility check: one VIN and brand per call, answered at once. */
export class HighMobility implements Provider {
  readonly id: string;
  readonly brands: ReadonlySet<string>;
  readonly #url: string;
  readonly #upstream: Upstream;

  constructor({ id = 'high-mobility', url, clientId, clientSecret, brands, ...options }: HighMobilityOptions) {
    this.id = id;
    this.brands = new Set(brands);
    this.#url = url;
    const credentials = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    this.#upstream = new Upstream({ method: 'POST', url: `${url}/v1/access_tokens`, json: credentials }, options);
  }

  async verify(vin: string, brand: string): Promise<ProviderAnswer> {
    const reply = await this.#upstream.ask({
      method: 'POST',
      url: `${this.#url}/v1/eligibility`,
      json: { vin, brand },
    });
    if (reply.outcome === 'NO_ANSWER') return reply;
    const { status, body } = reply;
    if (status === 200) return answered(body);
    if (status === 422) return refusedBy(body);
    return new Fault('UNEXPECTED', { raw: { status, body } }).answer;
  }

  state() {
    return this.#upstream.state();
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }
}

function answered(body: unknown): ProviderAnswer {
  const read = eligibility.safeParse(body);
  if (!read.success) return new Fault('BAD_ANSWER', { raw: body }).answer;
  const { eligible, data_delivery, connectivity_status, primary_user_assigned } = read.data;
  const connectivityStatus = connectivityOf(connectivity_status);
  return {
    outcome: 'ANSWERED',
    eligible,
    // A way of delivery we do not know is no fault of the answer.
    dataDelivery: [...deliveries].filter(([wire]) => data_delivery.includes(wire)).map(([, ours]) => ours),
    connectivityStatus,
    primaryUserAssigned: primary_user_assigned ?? null,
    reason: eligible ? null : reasonFor(connectivityStatus, primary_user_assigned),
    raw: body,
  };
}

function connectivityOf(wire: string | null | undefined): ConnectivityStatus | null {
  if (!wire) return null;
  if (wire === 'activated') return 'ACTIVATED';
  return wire === 'deactivated' ? 'DEACTIVATED' : 'UNKNOWN';
}

function reasonFor(connectivity: ConnectivityStatus | null, userAssigned: boolean | null | undefined): Reason {
  if (connectivity === 'DEACTIVATED') return ineligible.deactivated;
  return userAssigned === false ? ineligible.userMissing : ineligible.unexplained;
}

/** Which field a 422 names: by its `source`, or by the words of its text where there is none. */
function refusedBy(body: unknown): ProviderAnswer {
  const read = refusal.safeParse(body);
  const errors = read.success ? read.data.errors : [];
  const named = errors.map(({ source, title, detail }) => source ?? `${title ?? ''} ${detail ?? ''}`).join(' ');
  // "Invalid VIN and brand" may be right for another brand, so the brand is looked for first.
  if (/\bbrand\b/i.test(named)) return { outcome: 'BRAND_REFUSED', raw: body };
  return { outcome: 'FAILED', reason: /\bvin\b/i.test(named) ? vinRefused : refused, raw: body };
}
