import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config.ts';
import type { Caller } from '../../core/context.ts';
import { DomainError, Forbidden, Unauthenticated } from '../../core/errors.ts';
import { openDevelopmentIdentity, type TokenClaims } from './development-identity.ts';
import { IssuerKeys } from './issuer.ts';

export interface Authenticator {
  /** The caller by an Authorization header; null without one. Throws Unauthenticated, Forbidden and Unavailable. */
  authenticate(authorization: string | undefined): Promise<Caller | null>;
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

const NO_AUDIENCE = 'AUTH_AUDIENCE is not set: tokens that the issuer made for other services are accepted, too.';

/** Opens the authenticator for the configured issuer, or in development for the gateway's own tokens. */
export async function openAuthenticator(config: Config): Promise<Authenticator> {
  const verified = new VerifiedTokens<Caller>();
  const identity = config.developmentIdentity ? await openDevelopmentIdentity(config) : null;
  const issuer = identity?.issuer ?? config.AUTH_ISSUER;
  if (!issuer) throw new Error('AUTH_ISSUER is required where the gateway is not its own issuer.');
  const audience = identity?.audience ?? config.AUTH_AUDIENCE;
  const keys = identity ?? new IssuerKeys(issuer, config.AUTH_JWKS_URI, () => verified.clear());
  const options: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    issuer,
    requiredClaims: ['exp'],
    clockTolerance: TOLERANCE,
    ...(audience !== undefined && { audience }),
  };

  return {
    authenticate: async (authorization) => {
      if (authorization === undefined) return null;
      return verified.get(authorization, async () => {
        const claims = await verifiedClaims(bearerToken(authorization), keys, options);
        return { value: callerOf(claims, config), expiresAt: (claims.exp ?? 0) * 1000 };
      });
    },
    ...(identity && { issue: identity.issue }),
    warnings: audience === undefined ? [NO_AUDIENCE] : [],
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
      throw new Unauthenticated('The token is of another type than an access token.');
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
  aud: 'The token is meant for another audience.',
  exp: 'The token does not say when it expires.',
  nbf: 'The token is not valid yet.',
};

function unauthenticated(error: unknown): Unauthenticated {
  const reason =
    error instanceof errors.JWTClaimValidationFailed ? error.claim : error instanceof errors.JOSEError && error.code;
  const message = reasons[reason || ''] ?? 'The token cannot be verified.';
  return Object.assign(new Unauthenticated(message), { cause: error });
}

function callerOf(claims: JWTPayload, config: Config): Caller {
  const company = claims[config.AUTH_COMPANY_CLAIM];
  if (!isCompany(company)) {
    throw new Forbidden(`The token names no company: its claim "${config.AUTH_COMPANY_CLAIM}" must be a plain name.`);
  }
  const scope = typeof claims.scope === 'string' ? claims.scope : '';
  return {
    company,
    subject: typeof claims.sub === 'string' ? claims.sub : '',
    scopes: config.AUTH_SCOPES ? new Set(scope.split(' ').filter(Boolean)) : null,
    expiresAt: ((claims.exp ?? 0) + TOLERANCE) * 1000,
  };
}

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
