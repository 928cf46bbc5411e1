import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFleet, fleetFields, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { END, FORM_TYPE, field, file } from './support/raw-form.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const JSON_TYPE = { 'content-type': 'application/json' };

// biome-ignore lint/suspicious/noExplicitAny: a test's assertions say what an answer must look like.
async function send(method: string, path: string, body: BodyInit, headers: Record<string, string>): Promise<any> {
  const init = { method, headers: { ...acme.headers, ...headers }, body, duplex: 'half' };
  const answer = await fetch(`${gateway.url}${path}`, init);
  return { status: answer.status, body: await answer.json() };
}

/** Ways in which a body can reach the parser. */
const ways: Record<string, (bytes: Buffer<ArrayBuffer>) => [body: BodyInit, headers: Record<string, string>]> = {
  whole: (bytes) => [bytes, JSON_TYPE],
  'with its charset': (bytes) => [bytes, { 'content-type': 'application/json; charset=UTF-8; v=1' }],
  'in chunks, with another name of its charset': (bytes) => [
    new Blob([bytes]).stream(),
    { 'content-type': 'application/json; charset=utf8' },
  ],
  'in chunks': (bytes) => [new Blob([bytes]).stream(), JSON_TYPE],
  compressed: (bytes) => [gzipSync(bytes), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
};

/** Sequences that are not UTF-8: lone, overlong, surrogates, beyond Unicode, cut off. */
const wrong = [
  ...['ff', '80', 'bf', 'fe', 'c0 80', 'c1 bf', 'e0 80 80', 'e0 9f bf', 'f0 80 80 80', 'f0 8f bf bf'],
  ...['ed a0 80', 'ed bf bf', 'ed a0 bd ed b8 80', 'f4 90 80 80', 'f8 88 80 80 80', 'fc 84 80 80 80 80'],
  ...['c3', 'e2', 'e2 82', 'f0', 'f0 9f', 'f0 9f 98', 'fc'],
].map((hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const right = ['x', 'ü', '€', '😀', '\ufffd', 'ß', '\u07ff', '\u0800', '\ud7ff', '\ue000'].map((text) =>
  Buffer.from(text),
);
const texts = fc
  .array(fc.constantFrom(...wrong, ...right, ...right, ...right), { minLength: 1, maxLength: 6 })
  .map((parts) => Buffer.concat(parts));

/** The text by the engine's own decoder, or null if the bytes are not UTF-8. */
function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const around = (before: string, bytes: Buffer, after: string) =>
  Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
const fleetOf = (bytes: Buffer) => {
  const [before = '', after = ''] = JSON.stringify({ ...fleetFields, name: '|' }).split('|');
  return around(before, bytes, after);
};

describe('bytes that are not UTF-8 are no JSON, and UTF-8 is stored unchanged', () => {
  test.each(Object.entries(ways))('%s', async (_, way) => {
    await fc.assert(
      fc.asyncProperty(texts, async (bytes) => {
        const name = decoded(bytes);
        const { status, body } = await send('POST', '/fleets', ...way(fleetOf(bytes)));
        if (name === null) expect([status, body.code]).toEqual([400, 'MALFORMED_JSON']);
        else expect([status, body.name]).toEqual([201, name]);
      }),
      { numRuns: 60, examples: wrong.map((bytes) => [bytes]) },
    );
  });

  const endpoints: [method: string, path: string][] = [
    ['PATCH', `/fleets/${unknownId}`],
    ['POST', '/vehicles'],
    ['DELETE', '/vehicles'],
    ['POST', '/vehicles/delete'],
    ['POST', '/vehicles/move'],
    ['POST', '/contracts'],
    ['POST', '/webhooks'],
    ['PATCH', `/webhooks/${unknownId}`],
    ['POST', '/graphql'],
  ];
  test.each(endpoints)('%s %s', async (method, path) => {
    for (const way of Object.values(ways)) {
      for (const bytes of wrong) {
        const { status, body } = await send(method, path, ...way(around('{"query":"', bytes, '"}')));
        const code = body.code ?? body.errors?.[0]?.extensions.code;
        expect([status, code]).toEqual([400, 'MALFORMED_JSON']);
      }
    }
  });

  test('a repetition with an Idempotency-Key is refused in the same way', async () => {
    for (const way of Object.values(ways)) {
      const [body, headers] = way(fleetOf(Buffer.of(0xff)));
      const refusal = await send('POST', '/fleets', body, { ...headers, 'idempotency-key': crypto.randomUUID() });
      expect([refusal.status, refusal.body.code]).toEqual([400, 'MALFORMED_JSON']);
    }
  });
});

describe('the fields of a GraphQL upload', async () => {
  const fleet = await createFleet(acme);
  const query = 'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { summary { created } } }';
  /** A form with these bytes in `operations` or `map`. */
  const upload = (place: string, bytes: Buffer) => {
    const at = (here: string) => (here === place ? bytes.toString('latin1') : '');
    const input = { fleetId: fleet.id, file: null };
    const operations = JSON.stringify({ query, variables: { input, note: '|' } }).replace('|', at('operations'));
    const map = JSON.stringify({ '0|': ['variables.input.file'] }).replace('|', at('map'));
    const form = field('operations', operations) + field('map', map) + file('WBA00000000000011', '0') + END;
    return send('POST', '/graphql', Buffer.from(form, 'latin1'), { 'content-type': FORM_TYPE });
  };

  test.each(['operations', 'map'])('%s that are not UTF-8', async (place) => {
    for (const bytes of wrong) {
      const { status, body } = await upload(place, bytes);
      expect([status, body.errors?.[0].extensions.code]).toEqual([400, 'MALFORMED_JSON']);
    }
  });

  test('operations in any script', async () => {
    expect((await upload('operations', Buffer.from('ü€😀'))).body.errors).toBeUndefined();
  });
});

test('JSON in another charset is refused, since it is UTF-8 between services (RFC 8259)', async () => {
  const text = JSON.stringify(fleetFields);
  for (const charset of ['utf-16', 'utf-16le', 'UTF-32', 'iso-8859-1', '"windows-1252"']) {
    const headers = { 'content-type': `application/json; charset=${charset}` };
    const { status, body } = await send('POST', '/fleets', Buffer.from(text, 'utf16le'), headers);
    expect([status, body.code, body.detail]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE', expect.stringContaining('UTF-8')]);
  }
});
