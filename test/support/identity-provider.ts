import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign as signBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Signing by algorithm (RFC 7518), written out so that tests can also make tokens that a library refuses to sign. */
const algorithms: Record<string, { makeKeys: () => KeyPair; sign: (data: Buffer, key: KeyObject) => Buffer }> = {
  RS256: { makeKeys: rsa, sign: (data, key) => signBytes('sha256', data, key) },
  RS512: { makeKeys: rsa, sign: (data, key) => signBytes('sha512', data, key) },
  // Padding 6 is RSA_PKCS1_PSS_PADDING.
  PS256: { makeKeys: rsa, sign: (data, key) => signBytes('sha256', data, { key, padding: 6, saltLength: 32 }) },
  ES256: { makeKeys: () => elliptic('P-256'), sign: (data, key) => signBytes('sha256', data, plain(key)) },
  ES384: { makeKeys: () => elliptic('P-384'), sign: (data, key) => signBytes('sha384', data, plain(key)) },
  EdDSA: { makeKeys: () => generateKeyPairSync('ed25519'), sign: (data, key) => signBytes(null, data, key) },
};

interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

function rsa(): KeyPair {
  return generateKeyPairSync('rsa', { modulusLength: 2048 });
}

function elliptic(namedCurve: string): KeyPair {
  return generateKeyPairSync('ec', { namedCurve });
}

function plain(key: KeyObject) {
  return { key, dsaEncoding: 'ieee-p1363' } as const;
}

export interface SigningKey extends KeyPair {
  kid: string;
  alg: string;
}

export interface SignOptions {
  alg?: string;
  /** Replaces members of the header; undefined removes a member. */
  header?: Record<string, unknown>;
}

export interface Issuer {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUri: string;
  /** The number of requests for the keys, answered or not. */
  readonly jwksFetches: number;
  readonly discoveryFetches: number;
  /** The published keys; a test may add some. */
  keys: SigningKey[];
  /** Signs a token that is valid for 5 minutes; `claims` replaces members, undefined removes a member. */
  sign(claims?: Record<string, unknown>, options?: SignOptions): string;
  /** Replaces all keys. */
  rotate(): void;
  /** Closes the port: connections are refused. */
  stop(): Promise<void>;
  /** Opens the same port again. */
  start(): Promise<void>;
  /** Changes the responses, such as `{status: 500}` or `{hangs: true}`; null restores them. */
  misbehave(how: Misbehaviour | null): void;
}

export interface Misbehaviour {
  status?: number;
  body?: string;
  hangs?: boolean;
}

/** A small OpenID issuer on a local port that can rotate keys, fail, hang and stop. Stop it at the end. */
export async function startIssuer({ algs = ['ES256'] }: { algs?: string[] } = {}): Promise<Issuer> {
  const audience = 'https://fleets.example';
  const counts = { jwks: 0, discovery: 0 };
  let misbehaviour: Misbehaviour | null = null;
  let keys = algs.map(makeKey);
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;

  function listen(onPort: number): Promise<Server> {
    const created = createServer((request, response) => {
      const isKeys = request.url === '/keys';
      counts[isKeys ? 'jwks' : 'discovery'] += 1;
      if (misbehaviour?.hangs) return;
      const usual = isKeys ? { keys: keys.map(published) } : { issuer, jwks_uri: `${issuer}/keys` };
      response.writeHead(misbehaviour?.status ?? 200, { 'content-type': 'application/json' });
      response.end(misbehaviour?.body ?? JSON.stringify(usual));
    });
    return new Promise((resolve, reject) => {
      created.once('error', reject);
      created.listen(onPort, '127.0.0.1', () => resolve(created));
    });
  }

  return {
    issuer,
    audience,
    jwksUri: `${issuer}/keys`,
    get jwksFetches() {
      return counts.jwks;
    },
    get discoveryFetches() {
      return counts.discovery;
    },
    get keys() {
      return keys;
    },
    set keys(replacement) {
      keys = replacement;
    },
    sign(claims = {}, { alg = 'ES256', header = {} } = {}) {
      const key = keys.find((candidate) => candidate.alg === alg);
      if (!key) throw new Error(`This issuer has no key for ${alg}.`);
      return signToken(usualClaims(issuer, audience, claims), { alg, kid: key.kid, typ: 'at+jwt', ...header }, key);
    },
    rotate() {
      keys = keys.map(({ alg }) => makeKey(alg));
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    async start() {
      server = await listen(port);
    },
    misbehave(how) {
      misbehaviour = how;
    },
  };
}

function usualClaims(iss: string, aud: string, claims: Record<string, unknown>): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return { iss, aud, sub: 'user-1', company: 'acme', iat: now, exp: now + 300, ...claims };
}

export function makeKey(alg: string): SigningKey {
  const algorithm = algorithms[alg];
  if (!algorithm) throw new Error(`No such algorithm here: ${alg}`);
  return { kid: randomUUID(), alg, ...algorithm.makeKeys() };
}

function published({ kid, alg, publicKey }: SigningKey) {
  return { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
}

/** Signs any header and claims by the key's own algorithm, even if the header names another. */
export function signToken(claims: unknown, header: Record<string, unknown>, key: SigningKey): string {
  return assemble(claims, header, (data) => algorithms[key.alg]?.sign(data, key.privateKey) ?? Buffer.alloc(0));
}

/** Signs with a shared secret, for the attack in which the public key is used as an HMAC secret. */
export function signWithSecret(claims: unknown, header: Record<string, unknown>, secret: string | Buffer): string {
  return assemble(claims, header, (data) => createHmac('sha256', secret).update(data).digest());
}

function assemble(claims: unknown, header: Record<string, unknown>, sign: (data: Buffer) => Buffer): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${input}.${sign(Buffer.from(input)).toString('base64url')}`;
}
