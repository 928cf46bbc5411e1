import fc from 'fast-check';
import { type FuzzRequest, oddHeaders, who } from './request.ts';
import { anyJson, bytesOf, naughty, rarely, stringFor } from './values.ts';

const utf16 = (text: string) => `\xff\xfe${Buffer.from(text, 'utf16le').toString('latin1')}`;

/** Pieces of files: some that spreadsheets write, some that parsers fail on. */
const piece: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'vin\n',
      'vin;name\r\n',
      'name,VIN\n',
      '"vin"\t"x"\n',
      '\n',
      '\r',
      '\r\n',
      ',',
      ';',
      '\t',
      '|',
      '""',
      '"a,b",',
    ),
  },
  { weight: 4, arbitrary: stringFor('vin').map((vin) => bytesOf(`${vin}\n`)) },
  { weight: 2, arbitrary: naughty.map(bytesOf) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '"',
      '"unclosed\n',
      'a"b"c\n',
      '\0',
      '\x1a',
      bytesOf('\ufeff'),
      '\xff\xfe',
      '\xfe\xff',
      '\xff\xfe\0\0',
      '\xc3',
      '\xed\xa0\x80',
      '\xf5\xff',
      bytesOf('\u2028'),
      bytesOf('\u0085'),
      '=1+1\n',
      '\x89PNG\r\n\x1a\n',
      'PK\x03\x04',
      '%PDF-1.7\n',
      'sep=;\n',
      utf16('vin\nWBA00000000000001\n'),
    ),
  },
);
const huge = fc.constantFrom(
  ','.repeat(100_000),
  '\n'.repeat(100_000),
  '"'.repeat(100_001),
  'x'.repeat(1_100_000),
  `vin\n${'1,'.repeat(50_000)}`,
  `${'vin,'.repeat(2_000)}\n`,
);

/** CSV files, valid or nearly so. */
const csv: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')) },
  {
    weight: 3,
    arbitrary: fc.array(stringFor('vin'), { maxLength: 8 }).map((vins) => utf16(`vin\n${vins.join('\n')}`)),
  },
  { weight: 1, arbitrary: fc.tuple(piece, huge, piece).map((pieces) => pieces.join('')) },
);

interface Part {
  head: string;
  body: string;
}

const field = (name: string, body: fc.Arbitrary<string>): fc.Arbitrary<Part> =>
  body.map((text) => ({ head: `Content-Disposition: form-data; name="${name}"`, body: text }));
const file = (name: string): fc.Arbitrary<Part> =>
  fc
    .record({
      body: csv,
      filename: fc.oneof(
        fc.constant('vins.csv'),
        naughty.map((text) => bytesOf(text).replaceAll(/[\r\n"]/g, '')),
      ),
      type: fc.constantFrom('text/csv', 'application/vnd.ms-excel', 'text/csv; charset=utf-16', 'image/png', '', 'x'),
    })
    .map(({ body, filename, type }) => ({
      head: `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: ${type}`,
      body,
    }));
/** Parts that no form should have. */
const oddPart: fc.Arbitrary<Part> = fc.record({
  head: fc.constantFrom(
    '',
    'Content-Disposition: form-data',
    'Content-Disposition: attachment; name="vins"',
    "Content-Disposition: form-data; name=vins; filename*=utf-8''%00%ff",
    'Content-Disposition: form-data; name="__proto__"',
    'Content-Disposition: form-data; name="vins"\r\nContent-Transfer-Encoding: base64',
    'no header at all',
    `X: ${'x'.repeat(20_000)}`,
    ...Array.from({ length: 2 }, (_, at) => 'A: b\r\n'.repeat(at * 3_000)),
  ),
  body: naughty.map(bytesOf),
});

const BOUNDARY = 'b0undary';

/** A form of these parts, intact or torn somewhere. */
function formOf(parts: fc.Arbitrary<readonly Part[]>): fc.Arbitrary<Pick<FuzzRequest, 'body' | 'headers'>> {
  return fc
    .record({
      parts,
      odd: rarely(oddPart, 12),
      repeated: often(1),
      cut: rarely(fc.double({ min: 0, max: 1, noNaN: true }), 8),
      end: fc.oneof(
        { weight: 20, arbitrary: fc.constant('--\r\n') },
        fc.constantFrom('', '--', '\r\n', '-', 'garbage'),
      ),
      type: fc.oneof(
        { weight: 15, arbitrary: fc.constant(`multipart/form-data; boundary=${BOUNDARY}`) },
        fc.constantFrom(
          'multipart/form-data',
          'multipart/form-data; boundary=""',
          `multipart/form-data; boundary=${'x'.repeat(500)}`,
          'multipart/mixed; boundary=b0undary',
          'multipart/form-data; boundary=b0undary; charset=utf-16',
        ),
      ),
    })
    .map(({ parts, odd, repeated, cut, end, type }) => {
      const all = [...parts, ...(odd ? [odd] : []), ...Array.from({ length: repeated - 1 }, () => parts[0])];
      const text = `${all.map((part) => `--${BOUNDARY}\r\n${part?.head}\r\n\r\n${part?.body}\r\n`).join('')}--${BOUNDARY}${end}`;
      return {
        body: cut === undefined ? text : text.slice(0, Math.floor(cut * text.length)),
        headers: { 'content-type': type },
      };
    });
}

const often = (usual: number) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(2, 25, 40) });

const restParts = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(field('fleetId', stringFor('fleetId').map(bytesOf)), file('vins')) },
  { weight: 2, arbitrary: fc.tuple(file('vins'), field('fleetId', stringFor('fleetId').map(bytesOf))) },
  { weight: 1, arbitrary: fc.tuple(field('fleetId', naughty.map(bytesOf))) },
  { weight: 1, arbitrary: fc.tuple(field('vins', csv), file('other')) },
  { weight: 1, arbitrary: fc.constant([]) },
);

const json = (value: unknown) => bytesOf(JSON.stringify(value) ?? '');
const operations = fc
  .record({
    fleetId: stringFor('fleetId'),
    importId: rarely(stringFor('importId'), 2),
    dryRun: fc.boolean(),
  })
  .map((input) => ({
    query:
      'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { import { id } summary { created } rejected { row code } } }',
    variables: { input: { ...input, file: null } },
  }));
const map = fc.oneof(
  { weight: 10, arbitrary: fc.constant<unknown>({ 0: ['variables.input.file'] }) },
  fc.constantFrom<unknown>(
    { 0: ['variables.input.fleetId'] },
    { 0: ['variables.__proto__.x'] },
    { 0: ['constructor.prototype.x'] },
    { 0: [''] },
    { 0: ['query'] },
    { 0: 'variables.input.file' },
    { 1: ['variables.input.file'] },
    { 0: Array.from({ length: 500 }, () => 'variables.input.file') },
  ),
  anyJson,
);
const graphqlParts = fc.tuple(
  field(
    'operations',
    fc.oneof({ weight: 10, arbitrary: operations.map(json) }, anyJson.map(json), naughty.map(bytesOf)),
  ),
  field('map', fc.oneof({ weight: 10, arbitrary: map.map(json) }, naughty.map(bytesOf))),
  file('0'),
);

const modes = fc.constantFrom(
  '',
  '',
  '?mode=atomic',
  '?dryRun=true',
  '?fleetId=OWN.fleetId.',
  '?importId=OWN.importId.',
  '?mode=x',
);

/** Uploads by both interfaces: files and forms that are torn, mislabelled, endless or missing. */
export const uploadRequests: Readonly<Record<string, fc.Arbitrary<FuzzRequest>>> = {
  'POST /vehicles/file (forms)': fc
    .record({ form: formOf(restParts), query: modes, odd: oddHeaders, who })
    .map(({ form, query, odd, who }) => ({
      method: 'POST',
      path: `/vehicles/file${query}`,
      body: form.body ?? '',
      headers: { ...odd, ...form.headers },
      who,
    })),
  'mutation importVehicles (forms)': fc
    .record({ form: formOf(graphqlParts), odd: oddHeaders, who })
    .map(({ form, odd, who }) => ({
      method: 'POST',
      path: '/graphql',
      body: form.body ?? '',
      headers: { ...odd, ...form.headers, 'graphql-require-preflight': '1' },
      who,
    })),
};
