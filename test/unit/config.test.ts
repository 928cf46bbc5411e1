import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mistakenNames, readConfig, readSettings, settings } from '../../src/config.ts';

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

/** An invalid value for each setting that can have one. */
const wrong = Object.keys(settings.shape).flatMap((name) => {
  const value = ['x', '-1', 'x://y', '/nowhere'].find((one) => !settings.safeParse({ [name]: one }).success);
  return value === undefined ? [] : [{ name, value }];
});

test('an invalid setting is reported with its value and the expected one', () => {
  expect(Object.keys(settings.shape).filter((name) => !wrong.some((one) => one.name === name))).toEqual([
    ...[
      'HOST',
      'DATA_DIR',
      'AUTH_AUDIENCE',
      'AUTH_CLIENT_IDS',
      'AUTH_COMPANY_CLAIM',
      'PACKS',
      'HIGH_MOBILITY_CLIENT_ID',
    ],
    ...['HIGH_MOBILITY_CLIENT_SECRET', 'MERCEDES_CLIENT_ID', 'MERCEDES_CLIENT_SECRET', 'CONSOLE_CLIENT_ID'],
  ]);
  for (const { name, value } of wrong) {
    const message = (() => {
      try {
        return String(readConfig({ [name]: value }));
      } catch (error) {
        return (error as Error).message;
      }
    })();
    const [, line = ''] = /\n {2}- (.*)/.exec(message) ?? [];
    const isSecret = /^DATABASE_|TOKEN$|SECRET$/.test(name);
    expect(line.startsWith(`${name}: must `), line).toBe(true);
    expect(line.endsWith(`, not "${value}"`), line).toBe(!isSecret);
    expect(line).not.toMatch(/Invalid|received|NaN|expected|undefined|Too (?:small|big)|\.\d+:/);
  }
});

test.each([' ', '0x10', '1e3', '1.0', '+5', '5 ', '5_000', '٥', '99999999999999999999'])(
  '"%s" is no whole number',
  (text) => {
    expect(() => readConfig({ LIMIT_VINS: text })).toThrow(
      `LIMIT_VINS: must be a whole number: 1 or more, not "${text}"`,
    );
    expect(() => readConfig({ RATE_LIMIT_PER_MINUTE: text })).toThrow('RATE_LIMIT_PER_MINUTE: must be a whole number');
  },
);

test('plain digits are a whole number', () => {
  expect(readConfig({ PORT: '0', LIMIT_VINS: '0050' })).toMatchObject({ PORT: 0, LIMIT_VINS: 50 });
});

test.each(['PACKS', 'HIGH_MOBILITY_BRANDS', 'TRUST_PROXY', 'CORS_ORIGINS', 'AUTH_AUDIENCE'])(
  '%s has items, if it is set',
  (name) => {
    for (const nothing of [' , ', ',', ' '])
      expect(() => readConfig({ [name]: nothing })).toThrow(`${name}: must have an item, not "${nothing}"`);
    expect(readConfig({ CORS_ORIGINS: 'https://a.example, ,https://b.example,' }).CORS_ORIGINS).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
    expect([...readConfig({ PACKS: 'basic: Fuel, range,pro' }).PACKS]).toEqual([
      ['basic', 'Fuel'],
      ['range', null],
      ['pro', null],
    ]);
  },
);

test('an invalid secret is not printed', () => {
  const DATABASE_URL = 'mysql://root:hunter2@db/fleets';
  expect(() => readConfig({ DATABASE_URL })).toThrow(/DATABASE_URL: must be an address such as postgresql/);
  expect(() => readConfig({ DATABASE_URL })).not.toThrow(/hunter2/);
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

describe('signing in to the console', () => {
  test('needs an issuer, and OpenID', () => {
    expect(() => readConfig({ CONSOLE_CLIENT_ID: 'console' })).toThrow(
      'AUTH_ISSUER: is required, because CONSOLE_CLIENT_ID is set',
    );
    expect(() => readConfig({ CONSOLE_SCOPE: 'fleets:read openid2' })).toThrow('CONSOLE_SCOPE: must name openid');
    const right = { CONSOLE_CLIENT_ID: 'console', AUTH_ISSUER: 'https://id.example.com' };
    expect(readConfig(right).CONSOLE_SCOPE).toBe('openid');
  });
});

describe('the address of a database', () => {
  test.each([
    'postgres://db/fleets',
    'postgresql://gateway@[::1]:5433/fleets',
    'postgresql://gateway:p%40ss%2Cw%2Frd@db/fleets?sslmode=verify-full',
    'postgresql://gateway@/fleets?host=/var/run/postgresql',
    'postgresql://gateway@localhost/fleets?host=/cloudsql/project:region:instance',
    'postgresql://gateway@%2Fvar%2Frun%2Fpostgresql/fleets',
    'postgresql:///fleets?host=/var/run/postgresql&port=5433&user=gateway',
    'postgresql://gateway@db/fleets?target_session_attrs=read-write',
    'postgresql://gateway@db/fleets?options=-c%20search_path%3Da,b',
    'postgresql://gateway:what?#[is%20this@db/fleets',
    'postgresql://',
    'postgresql://db?dbname=fleets&user=gateway&password=a+b',
    'postgresql://gateway@db/fleets?sslrootcert=system&sslmode=verify-full&channel_binding=require',
    'postgresql://gateway@db/fleets?gssencmode=disable&connect_timeout=10&keepalives=1&sslmode=allow',
  ])('%s', (DATABASE_URL) => {
    expect(readSettings({ DATABASE_URL }, settings.pick({ DATABASE_URL: true }))).toEqual({ DATABASE_URL });
  });

  test.each([
    'postgresql://gateway@a,b/fleets?target_session_attrs=read-write',
    'postgresql://gateway:p,w@a:5432,b:5433/fleets',
    'postgresql://a,b',
    'postgresql://gateway@/fleets?host=a,b',
    'postgresql://gateway@/fleets?port=1&host=a%2cb',
  ])('%s: one host alone, and what to use instead', (DATABASE_URL) => {
    for (const env of [{ DATABASE_URL }, { DATABASE_DIRECT_URL: DATABASE_URL }]) {
      expect(() => readConfig(env)).toThrow(/must name one host: the primary, or a name that follows it.*READ_URLS/);
    }
  });

  test.each([
    ['postgresql://', 'gateway@db:port/fleets'],
    ['mysql://', 'db/fleets'],
    ['', 'host=db dbname=fleets'],
    ['', '/var/run/postgresql'],
  ])('%s%s is none', (scheme, rest) => {
    expect(() => readConfig({ DATABASE_URL: scheme + rest })).toThrow(
      /DATABASE_URL: must be an address such as postgresql:\/\/user@host\/fleets, or \S+\?host=\/var\/run\/postgresql$/m,
    );
  });

  test.each([
    ['service=fleets', /without service=, .*: write what that service has into the address$/m],
    ['passfile=/etc/passwords', /without passfile=, .*: name that file in PGPASSFILE$/m],
    ['hostaddr=10.0.0.1', /without hostaddr=, .*: write that address as the host$/m],
    ['sslmode=verify-full&sslcrl=/etc/crl.pem', /without sslcrl=, which has no effect here: /],
    ['require_auth=scram-sha-256', /without require_auth=, .*sslmode=verify-full/],
    ['sslmode=verify_full', /must have sslmode=disable, require, verify-ca or verify-full, if any$/m],
  ])('a word of libpq is refused by name where a connection without it would be another one: %s', (words, reason) => {
    expect(() => readConfig({ DATABASE_URL: `postgresql://db/fleets?${words}` })).toThrow(reason);
    expect(() => readConfig({ DATABASE_ADMIN_URLS: `a=postgresql://db/fleets?${words}` })).toThrow(reason);
  });

  test('a path that addresses begin with has neither . nor .. in it', () => {
    expect(readConfig({ BASE_PATH: '/api/v1.2/..fleet/' }).BASE_PATH).toBe('/api/v1.2/..fleet');
    for (const BASE_PATH of ['/..', '/.', '/a/../b', '/a/./'])
      expect(() => readConfig({ BASE_PATH })).toThrow(/BASE_PATH: must be a path/);
  });

  test('a file that it names must be there', () => {
    expect(() => readConfig({ DATABASE_URL: 'postgresql://db/fleets?sslrootcert=/nowhere/ca.pem' })).toThrow(
      /DATABASE_URL: must name files that can be read \(ENOENT.*\/nowhere\/ca\.pem'\)$/m,
    );
    expect(() => readConfig({ DATABASE_URL: 'postgresql://db/x?sslmode=verify-ca&uselibpqcompat=true' })).toThrow(
      /DATABASE_URL: must name a CA for sslmode=verify-ca: sslrootcert=/,
    );
  });
});
