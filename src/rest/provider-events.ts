import { createHmac, timingSafeEqual } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { takeDelivery } from '../core/activation/touch-activations.ts';
import { contextOf } from '../core/context.ts';
import { RateLimited, Unauthenticated } from '../core/errors.ts';
import { bytesReader } from '../http/body.ts';
import { type HttpServices, localsOf, payerOf, RateLimit } from '../http/request-context.ts';
import { vinOrNull } from '../vin-files/index.ts';

const LARGEST_BODY = 256 * 1024;
const MOST_VINS = 1000;
/** Deliveries of one address; anybody may send them, and each is a digest to make. */
const MOST_PER_MINUTE = 600;
const NO_LIMIT = { allowed: true, seconds: 0 };
const PATH = '/providers/high-mobility/events';
const SIGNATURE = 'X-HM-Signature-256';
/** The installation that has passed it on, and a digest that shows it: that one has counted the delivery. */
const FORWARDED = 'X-Forwarded-Installation';
const FORWARD_MS = 3_000;
const NOT_FORWARDED = 'another installation did not take news of a provider';

/**
 * High Mobility's webhook (`fleet_clearance_changed`), signed with HMAC-SHA256 over its bytes. It makes the programs of the vehicles due that it
 * names, once a day for the same bytes, and is believed nothing else.
 */
export function providerEvents(services: HttpServices): RequestHandler {
  const router = Router({ caseSensitive: true });
  const { HIGH_MOBILITY_WEBHOOK_SECRET: secret } = services.config;
  if (!secret) return router;
  const readBytes = bytesReader(LARGEST_BODY);
  const limit = new RateLimit(MOST_PER_MINUTE);
  router.post(PATH, async (req, res) => {
    localsOf(res).route = PATH;
    const signature = req.get(SIGNATURE) ?? '';
    const [installation = '', mark = ''] = req.get(FORWARDED)?.split(' ') ?? [];
    const isForwarded = isSigned(markedBy(installation, signature), mark, secret);
    const { allowed, seconds } = isForwarded ? NO_LIMIT : limit.use(payerOf(null, req), 1);
    if (!allowed) throw new RateLimited(seconds, `Too many deliveries from this address. Try again in ${seconds} s.`);
    const bytes = await readBytes(req, res);
    if (!isSigned(bytes, signature, secret)) throw new Unauthenticated('The signature is not that of this body.', null);
    const ctx = contextOf(services, localsOf(res).requestId, null);
    await takeDelivery(ctx, {
      name: `delivery ${signature}`,
      provider: 'high-mobility',
      vins: vinsOf(new TextDecoder().decode(bytes)),
      passOn: async () => {
        if (!isForwarded) await forward(services, bytes, signature, secret);
      },
    });
    res.status(204).end();
  });
  return router;
}

/** What an installation signs to show that it has passed a delivery on. */
const markedBy = (installation: string, signature: string): Buffer => Buffer.from(`${installation} ${signature}`);

/** A provider knows one installation: it tells the others. One that is away looks at its programs every day. */
async function forward({ config, log }: HttpServices, bytes: Buffer, signature: string, secret: string): Promise<void> {
  const { INSTALLATION: own, INSTALLATIONS = {} } = config;
  if (!own) return;
  const mark = `${own} ${signatureOf(markedBy(own, signature), secret)}`;
  const headers = { 'content-type': 'application/json', [SIGNATURE]: signature, [FORWARDED]: mark };
  const others = Object.entries(INSTALLATIONS).filter(([name]) => name !== own);
  const send = async ([installation, address]: [string, string]) => {
    const signal = AbortSignal.timeout(FORWARD_MS);
    const options = { method: 'POST', body: new Blob([Buffer.from(bytes)]), headers, signal };
    const { ok, status } = await fetch(address + PATH, options);
    if (!ok) log.warn({ installation, status }, NOT_FORWARDED);
  };
  const unreached = (err: unknown) => log.warn({ err }, NOT_FORWARDED);
  await Promise.all(others.map((one) => send(one).catch(unreached)));
}

const signatureOf = (bytes: Buffer, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`;

function isSigned(bytes: Buffer, signature: string, secret: string): boolean {
  const wanted = Buffer.from(signatureOf(bytes, secret));
  const given = Buffer.from(signature);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The VINs in members named `vin` of a JSON text, wherever they are. */
function vinsOf(text: string): string[] {
  const found = new Set<string>();
  try {
    JSON.parse(text, (name, value) => {
      const vin = name === 'vin' && typeof value === 'string' ? vinOrNull(value) : null;
      if (vin !== null && found.size < MOST_VINS) found.add(vin);
      return value;
    });
  } catch {
    // Well signed, and of another form than is known.
  }
  return [...found];
}
