import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tokenCommand } from '../../src/commands/token.ts';
import { readConfig } from '../../src/config.ts';
import { Forbidden, Unauthenticated } from '../../src/core/errors.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';
import { challenge } from '../../src/http/identity/issuer.ts';

let directory: string;
const keyFile = () => join(directory, 'data', 'issuer-key.json');
const env = (more: NodeJS.ProcessEnv = {}) => ({ DATA_DIR: join(directory, 'data'), ...more });
const open = (more?: NodeJS.ProcessEnv) => openAuthenticator(readConfig(env(more)));

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'identity-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('Development identity', () => {
  test('the gateway accepts its own tokens, also after a restart', async () => {
    const { issue, authenticate } = await open();
    const token = `Bearer ${await issue?.({ company: 'demo' })}`;
    const demo = { company: 'demo', subject: 'development', scopes: null, expiresAt: expect.any(Number) };
    expect(await authenticate(token)).toEqual(demo);
    expect(await (await open()).authenticate(token)).toEqual(demo);
  });

  test('another data folder is another issuer', async () => {
    const { issue } = await open();
    const { authenticate } = await open({ DATA_DIR: join(directory, 'other') });
    await expect(authenticate(`Bearer ${await issue?.({ company: 'demo' })}`)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  test('only the owner can read the key, and no other file is left', async () => {
    await open();
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'data'))).toEqual(['issuer-key.json']);
  });

  test('gateways that make the key at once share one key', async () => {
    const gateways = await Promise.all(Array.from({ length: 10 }, () => open()));
    const tokens = await Promise.all(gateways.map(({ issue }) => issue?.({ company: 'demo' })));
    for (const { authenticate } of gateways) {
      for (const token of tokens) expect((await authenticate(`Bearer ${token}`))?.company).toBe('demo');
    }
    expect(readdirSync(join(directory, 'data'))).toEqual(['issuer-key.json']);
  });

  test('a damaged key file is named, not overwritten', async () => {
    await open();
    writeFileSync(keyFile(), '{"kty":"EC"');
    await expect(open()).rejects.toThrow(/issuer-key\.json does not hold a signing key/);
  });

  test('tokens have the company claim and scopes of the settings', async () => {
    const { issue, authenticate } = await open({
      AUTH_COMPANY_CLAIM: 'https://acme.example/company',
      AUTH_SCOPES: 'on',
    });
    const token = (await issue?.({ company: 'acme', scope: 'fleets:read contracts:read' })) ?? '';
    expect(decodeJwt(token)).toMatchObject({ 'https://acme.example/company': 'acme' });
    expect(await authenticate(`Bearer ${token}`)).toMatchObject({
      company: 'acme',
      scopes: new Set(['fleets:read', 'contracts:read']),
    });
  });

  test('with AUTH_ISSUER the gateway issues no tokens and makes no key', async () => {
    const { issue } = await open({ AUTH_ISSUER: 'https://issuer.example', AUTH_AUDIENCE: 'fleets' });
    expect(issue).toBeUndefined();
    expect(existsSync(keyFile())).toBe(false);
  });
});

describe('npm run token', () => {
  const run = (...args: string[]) => tokenCommand(args, env());

  test('prints the token and nothing else, without a running gateway', async () => {
    const command = promisify(execFile)(
      process.execPath,
      ['src/commands/token.ts', '--company', 'acme', '--scope', 'fleets:read'],
      { env: { ...env(), PATH: process.env.PATH } },
    );
    const { stdout, stderr } = await command;
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const { authenticate } = await open({ AUTH_SCOPES: 'on' });
    expect(await authenticate(`Bearer ${stdout.trim()}`)).toMatchObject({
      company: 'acme',
      scopes: new Set(['fleets:read']),
    });
  });

  test('an error is printed on stderr, with exit code 1', async () => {
    const command = promisify(execFile)(process.execPath, ['src/commands/token.ts', '--company', 'acme'], {
      env: { ...env(), DATABASE_URL: 'postgres://localhost/fleets', PATH: process.env.PATH },
    });
    await expect(command).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^DATABASE_URL is set.*\n$/),
    });
  });

  test('tokens last 30 days, or as long as requested', async () => {
    const lifetime = async (...args: string[]) => {
      const { exp = 0, iat = 0 } = decodeJwt(await run('--company', 'acme', ...args));
      return exp - iat;
    };
    expect(await lifetime()).toBe(30 * 86_400);
    expect(await lifetime('--expires-in', '2h')).toBe(7_200);
  });

  test('refuses what the gateway would refuse, and says how it is used', async () => {
    await expect(run()).rejects.toThrow('Usage: npm run');
    await expect(run('--company')).rejects.toThrow('Usage: npm run');
    await expect(run('--company', 'acme', 'extra')).rejects.toThrow('Usage: npm run');
    await expect(run('--firm', 'acme')).rejects.toThrow('Usage: npm run');
    await expect(run('--company', ' ')).rejects.toThrow('names no company');
    await expect(run('--company', 'acme', '--expires-in', 'soon')).rejects.toThrow('--expires-in');
    await expect(tokenCommand(['--company', 'acme'], env({ AUTH_ISSUER: 'https://issuer.example' }))).rejects.toThrow(
      'AUTH_ISSUER is set',
    );
  });
});

describe('WWW-Authenticate (RFC 6750)', () => {
  test('has no error code if no token was sent', () => {
    expect(challenge(new Unauthenticated('Send a token.', null))).toBe('Bearer realm="fleet-gateway"');
  });

  test('describes an invalid token in plain ASCII', () => {
    expect(challenge(new Unauthenticated('Not "good"\\ – at\r\nall'))).toBe(
      `Bearer realm="fleet-gateway", error="invalid_token", error_description="Not 'good'' ? at??all"`,
    );
  });

  test('names the scope that is missing', () => {
    expect(challenge(new Forbidden('The token lacks the scope fleets:write.', 'fleets:write'))).toBe(
      'Bearer realm="fleet-gateway", error="insufficient_scope", scope="fleets:write", ' +
        'error_description="The token lacks the scope fleets:write."',
    );
    expect(challenge(new Forbidden('The token names no company.'))).toBe(
      'Bearer realm="fleet-gateway", error="insufficient_scope", error_description="The token names no company."',
    );
  });
});
