import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config.ts';
import { allScopes, type Caller, type Scope } from '../../core/context.ts';
import { DomainError, Forbidden, Unauthenticated } from '../../core/errors.ts';
import { openDevelopmentIdentity, type TokenClaims } from './development-identity.ts';
import { IssuerKeys } from './issuer.ts';

export interface Authenticator {
  /** The caller by an Authorization header; null without one. Throws Unauthenticated, Forbidden and Unavailable. */
  authenticate(authorization: string | undefined): Promise<Caller | null>;
  /**
   * Reads the issuer's keys once: gives the reason why AUTH_ISSUER cannot be its name, and tells of an issuer that cannot
   * be read, which is asked again by the next tokens.
   */
  checkIssuer?: (tell: (message: string) => void) => Promise<string | null>;
  /** Makes a token where the gateway is its own issuer. */
  issue?: (claims: TokenClaims) => Promise<string>;
  warnings: readonly string[];
}

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'];
/** JWTs for other purposes, such as logout tokens, have other types (RFC 8725, section 3.11). */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];
/** The compact form: jose would accept a padded signature. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const LONGEST_COMPANY = 255;
const TOLERANCE = 5;

const OTHER_AUDIENCE = 'The token is meant for another audience.';
const NO_AUDIENCE = 'AUTH_AUDIENCE is not set: tokens that the issuer made for other services are accepted, too.';

/** Opens the authenticator for the configured issuer, or in development for the gateway's own tokens. */
export async function openAuthenticator(config: Config): Promise<Authenticator> {
  const verified = new VerifiedTokens<Caller>();
  const identity = config.developmentIdentity ? await openDevelopmentIdentity(config) : null;
  const issuer = identity?.issuer ?? config.AUTH_ISSUER;
  if (!issuer) throw new Error('AUTH_ISSUER is required where the gateway is not its own issuer.');
  const audiences = identity ? [identity.audience] : config.AUTH_AUDIENCE;
  const clients = config.AUTH_CLIENT_IDS;
  const keys = identity ?? new IssuerKeys(issuer, config.AUTH_JWKS_URI, () => verified.clear());
  const options = { algorithms: ALGORITHMS, issuer, requiredClaims: ['exp'], clockTolerance: TOLERANCE };

  return {
    authenticate: async (authorization) => {
      if (authorization === undefined) return null;
      return verified.get(authorization, async () => {
        const claims = await verifiedClaims(bearerToken(authorization), keys, options);
        if ((audiences || clients) && !isForUs(claims, audiences, clients)) throw new Unauthenticated(OTHER_AUDIENCE);
        return { value: callerOf(claims, config), expiresAt: (claims.exp ?? 0) * 1000 };
      });
    },
    ...('check' in keys && { checkIssuer: keys.check }),
    ...(identity && { issue: identity.issue }),
    warnings: audiences || clients ? [] : [NO_AUDIENCE],
  };
}

function bearerToken(authorization: string): string {
  const [scheme = '', token = '', ...rest] = authorization.trim().split(/ +/);
  if (scheme.toLowerCase() !== 'bearer') {
    // Another scheme counts as nothing sent (RFC 6750, section 3.1).
    throw new Unauthenticated('Send the token as "Authorization: Bearer <token>".', null);
  }
  if (rest.length > 0 || !COMPACT.test(token)) throw new Unauthenticated('The bearer token is not a signed JWT.');
  return token;
}

type Keys = Pick<IssuerKeys, 'find' | 'watch'>;

/** The claims of a verified token; throws Unauthenticated, or Unavailable where the keys cannot be read. */
async function verifiedClaims(token: string, keys: Keys, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await verifyWithFreshKeys(token, keys, options);
    const { typ } = protectedHeader;
    if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) {
      throw new Unauthenticated('The token is of another type than an access token. Send an access token.');
    }
    if ('crit' in protectedHeader || 'b64' in protectedHeader) {
      throw new Unauthenticated('The token demands extensions that are not understood here.');
    }
    return payload;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw unauthenticated(error);
  }
}

/** Verifies a token, again if the issuer has changed its keys without new ids. */
async function verifyWithFreshKeys(token: string, { find, watch }: Keys, options: JWTVerifyOptions) {
  const haveChanged = watch();
  try {
    return await verifyWithAnyKey(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || !(await haveChanged())) throw error;
    return verifyWithAnyKey(token, find, options);
  }
}

/** Verifies a token; one that names no key is tried with each that fits. */
async function verifyWithAnyKey(token: string, findKey: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, findKey, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (mismatch) {
        if (!(mismatch instanceof errors.JWSSignatureVerificationFailed)) throw mismatch;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

const reasons: Readonly<Record<string, string>> = {
  [errors.JWTExpired.code]: 'The token has expired.',
  [errors.JOSEAlgNotAllowed.code]: `The token must be signed with one of ${ALGORITHMS.join(', ')}.`,
  [errors.JWKSNoMatchingKey.code]: 'The token is signed with a key that its issuer does not publish.',
  [errors.JWSSignatureVerificationFailed.code]: 'The signature of the token is wrong.',
  iss: 'The token is from another issuer.',
  exp: 'The token does not say when it expires.',
  nbf: 'The token is not valid yet.',
};

function unauthenticated(error: unknown): Unauthenticated {
  const reason =
    error instanceof errors.JWTClaimValidationFailed ? error.claim : error instanceof errors.JOSEError && error.code;
  const message = reasons[reason || ''] ?? 'The token cannot be verified.';
  return Object.assign(new Unauthenticated(message), { cause: error });
}

/** Whether a token is for this service. Only a token that names no audience, as those of Cognito, counts by its client. */
function isForUs({ aud, client_id, azp }: JWTPayload, audiences: string[] = [], clients: string[] = []): boolean {
  if (aud === undefined) return clients.some((id) => id === client_id || id === azp);
  return audiences.some((one) => (Array.isArray(aud) ? aud.includes(one) : aud === one));
}

function callerOf(claims: JWTPayload, config: Config): Caller {
  const company = claimAt(claims, config.AUTH_COMPANY_CLAIM);
  if (!isCompany(company)) {
    const kind = 'a text of 1 to 255 characters without blanks at its ends';
    throw new Forbidden(`The token names no company: its claim "${config.AUTH_COMPANY_CLAIM}" must be ${kind}.`);
  }
  return {
    company,
    subject: typeof claims.sub === 'string' ? claims.sub : '',
    scopes: config.AUTH_SCOPES ? scopesOf(claims) : null,
    expiresAt: ((claims.exp ?? 0) + TOLERANCE) * 1000,
  };
}

/** The claim of that very name, or else what the path leads to through objects, by their own members alone. */
function claimAt(claims: JWTPayload, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path.split('.').reduce<unknown>((value, name) => {
    const isEntered =
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
    return isEntered ? (value as JWTPayload)[name] : undefined;
  }, claims);
}

/**
 * What a token may do. `scope` and `scp` are what a user has granted to an app: what the user may do (`permissions`, `roles`)
 * can only narrow it. A machine has nothing but permissions or roles. Names of other services' scopes mean nothing.
 */
function scopesOf({ scope, scp, permissions, roles }: JWTPayload): ReadonlySet<Scope> {
  const granted = scopesIn([scope, scp].map((value) => (typeof value === 'string' ? value.split(' ') : value)));
  const permitted = scopesIn([permissions, roles]);
  if (granted.size === 0) return permitted;
  return permitted.size === 0 ? granted : granted.intersection(permitted);
}

const scopesIn = (lists: readonly unknown[]): Set<Scope> =>
  new Set(allScopes.filter((scope) => lists.some((list) => Array.isArray(list) && list.includes(scope))));

/** Names are not trimmed: two spellings of one name would be two tenants in one. */
function isCompany(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_COMPANY) return false;
  return value === value.trim() && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

const LONGEST = 60_000;
/** The size of all kept tokens: 40,000 of 700 characters. */
const MOST_BYTES = 40 * 1024 * 1024;
const BYTES_BESIDE = 300;
/** Longer tokens are verified each time: they would evict many others. */
const MOST_CHARACTERS = 4_096;

/** Remembers tokens for a minute at most: checking a signature costs more than a small request. */
export class VerifiedTokens<T> {
  readonly #entries = new LRUCache<string, { value: Promise<T>; until: number }>({
    maxSize: MOST_BYTES,
    sizeCalculation: (_, token) => token.length + BYTES_BESIDE,
  });

  /** The kept or new result of `verify`. Concurrent first uses verify once; errors are not kept. */
  get(token: string, verify: () => Promise<{ value: T; expiresAt: number }>): Promise<T> {
    const known = this.#entries.get(token);
    if (known && Date.now() < known.until) return known.value;
    const verification = verify();
    const entry = { value: verification.then(({ value }) => value), until: Number.POSITIVE_INFINITY };
    if (token.length > MOST_CHARACTERS) return entry.value;
    this.#entries.set(token, entry);
    verification.then(
      ({ expiresAt }) => {
        entry.until = Math.min(expiresAt, Date.now() + LONGEST);
      },
      () => {
        if (this.#entries.peek(token) === entry) this.#entries.delete(token);
      },
    );
    return entry.value;
  }

  clear(): void {
    this.#entries.clear();
  }
}
