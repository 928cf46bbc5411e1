import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { type Forbidden, type Unauthenticated, Unavailable } from '../../core/errors.ts';

/** The longest wait for discovery and keys together. */
const TIMEOUT = 3_000;
/** Keys are read again after this time, so that withdrawn ones stop working. */
const MAX_AGE = 600_000;
/** The shortest time between two reads for unknown keys or wrong signatures. */
const COOL_DOWN = 30_000;
const PAUSE = 2_000;

const discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

interface KeySet {
  find: JWTVerifyGetKey;
  text: string;
  readAt: number;
}

/** Finds keys at `jwksUri` or by discovery. Unlike in jose's remote set, known keys work in an outage. Throws Unavailable. */
export class IssuerKeys {
  readonly #issuer: string;
  readonly #jwksUri: string | undefined;
  readonly #onRotated: () => void;
  #address: string | undefined;
  #known: KeySet | null = null;
  #reading: Promise<KeySet> | null = null;
  #failure: { at: number; error: Unavailable } | null = null;
  #missedAt = Number.NEGATIVE_INFINITY;

  constructor(issuer: string, jwksUri: string | undefined, onRotated: () => void) {
    this.#issuer = issuer;
    this.#jwksUri = this.#address = jwksUri;
    this.#onRotated = onRotated;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    const before = this.#known;
    const keys = await this.#current();
    try {
      return await keys.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The keys were just read for this token.
      if (keys !== before) this.#missedAt = keys.readAt;
      const fresh = await this.#readAgain();
      if (!fresh) throw error;
      return fresh.find(header, token);
    }
  };

  /** Why AUTH_ISSUER is not the issuer's name; null where it is, or where the issuer cannot be read now, which is told. */
  readonly check = async (tell: (message: string) => void): Promise<string | null> => {
    try {
      await this.#refresh();
    } catch (error) {
      const { cause } = error as Unavailable;
      if (cause instanceof OtherName) return cause.message;
      tell(`The issuer ${this.#issuer} cannot be read (${reasonOf(cause)}): tokens get a 503 until it can.`);
    }
    return null;
  };

  /**
   * Notes the known keys before a token is verified; if its signature is wrong, the result tells whether the issuer
   * publishes others since: it may have given a new key an old id.
   */
  readonly watch = (): (() => Promise<boolean>) => {
    const before = this.#known;
    return async () => {
      // Another token may have had them read meanwhile.
      if (this.#known?.text !== before?.text) return true;
      const fresh = await this.#readAgain().catch(() => null);
      return fresh !== null && fresh.text !== before?.text;
    };
  };

  /** Reads the keys, or gives null if that was done for another token just now. */
  async #readAgain(): Promise<KeySet | null> {
    if (!this.#reading && !this.#failure && Date.now() - this.#missedAt < COOL_DOWN) return null;
    if (!this.#reading) this.#missedAt = Date.now();
    return this.#refresh();
  }

  async #current(): Promise<KeySet> {
    const known = this.#known;
    if (!known) return this.#refresh();
    if (Date.now() - known.readAt < MAX_AGE) return known;
    // Old keys are better than none, and no caller waits for an issuer that failed before.
    const refreshed = this.#refresh().catch(() => known);
    return this.#failure ? known : refreshed;
  }

  async #refresh(): Promise<KeySet> {
    if (this.#failure && Date.now() - this.#failure.at < PAUSE) throw this.#failure.error;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  async #read(): Promise<KeySet> {
    const signal = AbortSignal.timeout(TIMEOUT);
    try {
      this.#address ??= await discover(this.#issuer, signal);
      const published = keySet.parse(await readJson(this.#address, signal));
      const before = this.#known;
      const known = { find: createLocalJWKSet(published), text: JSON.stringify(published), readAt: Date.now() };
      this.#known = known;
      this.#failure = null;
      if (before && before.text !== known.text) this.#onRotated();
      return known;
    } catch (cause) {
      // The keys may have moved: the next attempt asks for their address again.
      this.#address = this.#jwksUri;
      const error = new Unavailable('The issuer of the token is out of reach.', 2, { cause });
      this.#failure = { at: Date.now(), error };
      throw error;
    } finally {
      this.#reading = null;
    }
  }
}

async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const found = discovery.parse(await readJson(url, signal));
  if (found.issuer === issuer) return found.jwks_uri;
  throw new OtherName(
    `AUTH_ISSUER is "${issuer}", but the issuer there calls itself "${found.issuer}", as its tokens do.`,
  );
}

class OtherName extends Error {}

/** The reason why fetch failed is its error's cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);

async function readJson(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  if (response.ok) return response.json();
  await response.body?.cancel();
  throw new Error(`${url} answered ${response.status}`);
}

/** The value of `WWW-Authenticate` for an error (RFC 6750, section 3). */
export function challenge(error: Unauthenticated | Forbidden): string {
  const isForbidden = error.code === 'FORBIDDEN';
  const code = isForbidden ? 'insufficient_scope' : error.reason;
  const scope = isForbidden ? error.scope : null;
  const parameters = { realm: 'fleet-gateway', error: code, scope, error_description: code && error.message };
  const written = Object.entries(parameters).flatMap(([name, value]) => (value ? `${name}="${quotable(value)}"` : []));
  return `Bearer ${written.join(', ')}`;
}

/** The characters that RFC 6750 allows between quotes: printable ASCII without quote and backslash. */
function quotable(text: string): string {
  return text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
}
