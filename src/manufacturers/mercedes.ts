import { z } from 'zod';
import type { UpstreamRequest } from './exchange.ts';
import { type Asker, isAbout, type Provider, type ProviderAnswer, ProviderError, type Reason } from './provider.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

interface MercedesOptions extends UpstreamOptions {
  url: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
}

const compatibility = z.object({
  vehicleProvidesConnectivity: z.boolean(),
  services: z.array(z.object({ serviceId: z.string(), available: z.boolean() })).nullish(),
});

const vinRejected: Reason = {
  code: 'VIN_REFUSED',
  message: 'Mercedes-Benz does not accept this VIN. Check it against the vehicle’s papers.',
  actor: 'CUSTOMER',
  retryable: false,
};

const notConnected: Reason = {
  code: 'NOT_ELIGIBLE',
  message: 'Mercedes-Benz says that this vehicle offers no connectivity, and gave no reason.',
  actor: 'MANUFACTURER',
  retryable: true,
};

const noService: Reason = {
  code: 'NO_SERVICE_AVAILABLE',
  message: 'Mercedes-Benz offers none of its data services for this vehicle.',
  actor: 'MANUFACTURER',
  retryable: true,
};

const notSettled: Reason = {
  code: 'PROVIDER_ENROLMENT_PENDING',
  message: 'The vehicle was added to the Mercedes-Benz account and is not known there yet.',
  actor: 'MANUFACTURER',
  retryable: true,
};

/** Mercedes-Benz Connect Your Fleet: a vehicle must stand in the account before its compatibility can be asked for. */
export class Mercedes implements Provider {
  readonly id = 'connect-your-fleet';
  readonly brands: ReadonlySet<string> = new Set(['mercedes-benz']);
  readonly preference = 1;
  readonly #url: string;
  readonly #upstream: Upstream;

  constructor({ url, tokenUrl, clientId, clientSecret, ...options }: MercedesOptions) {
    this.#url = url;
    const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
    this.#upstream = new Upstream(
      {
        method: 'POST',
        url: tokenUrl,
        headers: { authorization: `Basic ${basic}` },
        form: { grant_type: 'client_credentials', scope: 'openid' },
      },
      options,
    );
  }

  async verify(vin: string, brand = 'mercedes-benz', asker?: Asker): Promise<ProviderAnswer> {
    const ask = (request: UpstreamRequest) => this.#upstream.ask(brand, request, asker);
    const compatibilities = { method: 'GET', url: `${this.#url}/v1/accounts/vehicles/${vin}/compatibilities` } as const;
    const first = await ask(compatibilities);
    if (first.outcome === 'NO_ANSWER' || first.status !== 404) return read(first, vin);
    const added = await ask({ method: 'POST', url: `${this.#url}/v1/accounts/vehicles`, json: [vin] });
    if (added.outcome === 'NO_ANSWER' || added.status >= 300) return read(added, vin);
    const second = await ask(compatibilities);
    if (second.outcome === 'REPLY' && second.status === 404) {
      return { outcome: 'NO_ANSWER', reason: notSettled, asked: true, raw: second.body };
    }
    return read(second, vin);
  }

  get capacity() {
    return this.#upstream.slots;
  }

  state() {
    return this.#upstream.state();
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }
}

function read(reply: Awaited<ReturnType<Upstream['ask']>>, vin: string): ProviderAnswer {
  if (reply.outcome === 'NO_ANSWER') return reply;
  const { status, body } = reply;
  if (status === 400) return { outcome: 'FAILED', reason: vinRejected, raw: body };
  if (status !== 200) return new ProviderError('UNEXPECTED', { raw: { status, body } }).answer;
  if (!isAbout(body, vin)) return new ProviderError('BAD_ANSWER', { raw: { fault: 'about another VIN' } }).answer;
  const answer = compatibility.safeParse(body);
  if (!answer.success) return new ProviderError('BAD_ANSWER', { raw: body }).answer;
  const { vehicleProvidesConnectivity, services } = answer.data;
  // An empty list says nothing about services; one in which all are missing does.
  const served = !services?.length || services.some((service) => service.available);
  const eligible = vehicleProvidesConnectivity && served;
  return {
    outcome: 'ANSWERED',
    eligible,
    dataDelivery: eligible ? ['PUSH'] : [],
    connectivityStatus: null,
    primaryUserAssigned: null,
    reason: eligible ? null : vehicleProvidesConnectivity ? noService : notConnected,
    raw: body,
  };
}
