import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { openDataFolder } from '../../database/data-folder.ts';
import { StartError } from '../../database/database.ts';

const ISSUER = 'http://fleet-gateway.local';
const AUDIENCE = 'fleet-gateway';
const ALGORITHM = 'ES256';

const text = z.string();
const privateKey = z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: text, y: text, d: text });
type PrivateKey = z.output<typeof privateKey>;

/** `expiresIn` is a time span such as `2h` or `30 days` (the default). */
export interface TokenClaims {
  company: string;
  scope?: string | undefined;
  expiresIn?: string | undefined;
}

/** The gateway as its own issuer. Its key is in DATA_DIR, so that tokens outlive a restart. */
export async function openDevelopmentIdentity(config: Config) {
  const jwk = await readOrMakeKey(config.DATA_DIR);
  const { d: _, ...publicJwk } = jwk;
  const [signingKey, verifyingKey] = [await importJWK(jwk, ALGORITHM), await importJWK(publicJwk, ALGORITHM)];
  const kid = await calculateJwkThumbprint(publicJwk);
  return {
    issuer: ISSUER,
    audience: AUDIENCE,
    find: async () => verifyingKey,
    watch: () => async () => false,
    /** A signed token; throws TypeError for a time span that cannot be read. */
    issue: async ({ company, scope, expiresIn = '30 days' }: TokenClaims) =>
      new SignJWT({ [config.AUTH_COMPANY_CLAIM]: company, ...(scope !== undefined && { scope }) })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt', kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject('development')
        .setIssuedAt()
        .setExpirationTime(expiresIn)
        .sign(signingKey),
  };
}

async function readOrMakeKey(directory: string): Promise<PrivateKey> {
  openDataFolder(directory);
  const path = join(directory, 'issuer-key.json');
  const stored = await readKey(path);
  if (stored) return stored;
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const made = privateKey.parse(await exportJWK(pair.privateKey));
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(made)}\n`, { flag: 'wx', mode: 0o600, flush: true });
    // A link, unlike a rename, fails when another process was quicker, whose key counts then.
    await link(draft, path);
    return made;
  } catch (error) {
    const theirs = hasCode(error, 'EEXIST') ? await readKey(path) : null;
    if (theirs) return theirs;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readKey(path: string): Promise<PrivateKey | null> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return privateKey.parse(JSON.parse(text));
  } catch (cause) {
    throw new StartError(`${path} does not hold a signing key. Delete it, and a new one is made.`, { cause });
  }
}

const hasCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code;
