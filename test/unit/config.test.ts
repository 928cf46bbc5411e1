import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mistakenNames, readConfig, settings } from '../../src/config.ts';

const long = Object.keys(settings.shape).filter((name) => name.length >= 8);

describe('a variable that is written nearly like a setting', () => {
  test('is warned of by name', () => {
    expect(mistakenNames({ AUTH_ISUER: 'https://id.example.com', DATABSE_URL: 'x', log_level: 'info' })).toEqual([
      'AUTH_ISUER is no setting: do you mean AUTH_ISSUER?',
      'DATABSE_URL is no setting: do you mean DATABASE_URL?',
      'log_level is no setting: do you mean LOG_LEVEL?',
    ]);
  });

  test('whichever character is left out, doubled or swapped', () => {
    fc.assert(
      fc.property(fc.constantFrom(...long), fc.nat(), fc.constantFrom('drop', 'double', 'swap'), (name, n, how) => {
        const at = n % (name.length - 1);
        const [a = '', b = ''] = name.slice(at);
        const middle = { drop: b, double: a + a + b, swap: b + a }[how] ?? '';
        const wrong = name.slice(0, at) + middle + name.slice(at + 2);
        fc.pre(!(wrong in settings.shape) && wrong.length >= 8);
        expect(mistakenNames({ [wrong]: 'x' })).toHaveLength(1);
      }),
    );
  });

  test('but no setting itself, and nothing that every machine has', () => {
    expect(mistakenNames(Object.fromEntries(Object.keys(settings.shape).map((name) => [name, 'x'])))).toEqual([]);
    const usual = [
      'PATH',
      'HOME',
      'HOSTNAME',
      'SHELL',
      'LOGNAME',
      'LANGUAGE',
      'DEBIAN_FRONTEND',
      'NODE_OPTIONS',
      'NODE_ENV',
    ];
    const others = [
      'PGHOST',
      'PGDATABASE',
      'KUBERNETES_SERVICE_HOST',
      'KUBERNETES_PORT',
      'npm_config_cache',
      'GATEWAY_PORT',
    ];
    expect(mistakenNames(Object.fromEntries([...usual, ...others].map((name) => [name, 'x'])))).toEqual([]);
  });
});

test.each(['foo', '*', 'https://app.example.com/', 'https://app.example.com/path', 'app.example.com', 'null'])(
  'CORS_ORIGINS=%s is no origin',
  (CORS_ORIGINS) => {
    expect(() => readConfig({ CORS_ORIGINS })).toThrow('CORS_ORIGINS');
  },
);

test.each(['https://app.example.com', 'http://localhost:3000', 'http://[::1]:8080'])('CORS_ORIGINS=%s', (origin) => {
  expect(readConfig({ CORS_ORIGINS: `${origin}, https://b.example` }).CORS_ORIGINS).toEqual([
    origin,
    'https://b.example',
  ]);
});
