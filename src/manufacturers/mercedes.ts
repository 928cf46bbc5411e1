import { z } from 'zod';
import type { AskFor } from './activation.ts';
import type { UpstreamRequest } from './exchange.ts';
import type { Host } from './host.ts';
import { listServices } from './listed-programs.ts';
import { BLACKLISTED, namesVin, problem } from './mercedes-problem.ts';
import { reasons } from './mercedes-reasons.ts';
import { mercedesServices } from './mercedes-services.ts';
import { type Activator, type Asker, type Provider, type ProviderAnswer, readAnswer, reason } from './provider.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

interface MercedesOptions extends UpstreamOptions {
  url: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  /** Those that tokens are requested for; `openid` alone is what its page on credentials shows. */
  scope?: string;
  /** The services of each pack, by the numbers of Mercedes-Benz' catalogue. */
  packs?: Readonly<Record<string, readonly string[]>>;
}

const compatibility = z.object({
  vehicleProvidesConnectivity: z.boolean(),
  services: z.array(z.object({ serviceId: z.string(), available: z.boolean() })).nullish(),
});

const blacklisted = reason(
  'VEHICLE_BLACKLISTED',
  'Mercedes-Benz has this vehicle on a blacklist: it cannot join the program.',
);
const notConnected = reason(
  'NOT_ELIGIBLE',
  'Mercedes-Benz says that this vehicle offers no connectivity, and gave no reason.',
);
const noService = reason('NO_SERVICE_AVAILABLE', 'Mercedes-Benz offers none of its data services for this vehicle.');

/** Mercedes-Benz Connect Your Fleet: a vehicle must be in the account before its compatibility can be asked for. */
export class Mercedes extends Upstream implements Provider {
  readonly id = 'connect-your-fleet';
  readonly brands: ReadonlySet<string> = new Set(['mercedes-benz']);
  readonly preference = 1;
  readonly activator: Activator;
  readonly #url: string;

  constructor({
    url,
    tokenUrl,
    clientId,
    clientSecret,
    scope = 'openid',
    packs = {},
    ...options
  }: MercedesOptions & Host) {
    const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
    super(
      {
        method: 'POST',
        url: tokenUrl,
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
      },
      options,
    );
    this.#url = url;
    const ask: AskFor = (request, asker) => this.ask('', request, asker);
    this.activator = {
      ...mercedesServices(ask, url, packs, options.clock),
      list: () => listServices((request) => this.ask('', request), this.list.bind(this), url),
    };
  }

  async verify(vin: string, brand = 'mercedes-benz', asker?: Asker): Promise<ProviderAnswer> {
    const ask = (request: UpstreamRequest) => this.ask(brand, request, asker);
    const compatibilities = { method: 'GET', url: `${this.#url}/v1/accounts/vehicles/${vin}/compatibilities` } as const;
    const first = await ask(compatibilities);
    if (first.outcome === 'NO_ANSWER' || first.status !== 404) return this.#read(first, vin);
    const added = await ask({ method: 'POST', url: `${this.#url}/v1/accounts/vehicles`, body: [{ vin }] });
    if (added.outcome === 'NO_ANSWER' || added.status >= 300) return this.#read(added, vin);
    const second = await ask(compatibilities);
    if (second.outcome === 'REPLY' && second.status === 404) {
      return { outcome: 'NO_ANSWER', reason: reasons.notSettled, asked: true, raw: second.body };
    }
    return this.#read(second, vin);
  }

  #read(reply: Awaited<ReturnType<Upstream['ask']>>, vin: string): ProviderAnswer {
    if (reply.outcome === 'NO_ANSWER') return reply;
    const { status, body } = reply;
    if (status === 200) return readAnswer(compatibility, body, vin, answered);
    const refusal = problem.parse(body);
    if (status === 400 && namesVin(refusal)) return { outcome: 'FAILED', reason: reasons.vinRefused, raw: body };
    if (status === 403 && refusal.type === BLACKLISTED) return { outcome: 'FAILED', reason: blacklisted, raw: body };
    return this.unexpected(reply);
  }
}

function answered({ vehicleProvidesConnectivity, services }: z.output<typeof compatibility>) {
  if (!vehicleProvidesConnectivity) return { eligible: false, reason: notConnected };
  // An empty list says nothing about services; one in which all are missing does.
  const isServed = !services?.length || services.some((service) => service.available);
  if (!isServed) return { eligible: false, reason: noService };
  return { eligible: true, reason: null, dataDelivery: ['PUSH' as const] };
}
