import fc from 'fast-check';
import { naughty } from './values.ts';

/** A request to send. Each character of `path`, a header and `body` is one byte. */
export interface FuzzRequest {
  method: string;
  /** The path with its query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** The owner of the token, if any. */
  who: 'own' | 'nobody';
}

const headerText = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
    .slice(0, 4_000);
const odd = naughty.map(headerText);
const one = (...texts: string[]) => fc.oneof(fc.constantFrom(...texts), odd);

const known: Readonly<Record<string, fc.Arbitrary<string>>> = {
  accept: one(
    'application/json',
    'application/graphql-response+json',
    'text/event-stream',
    'text/html',
    'text/csv',
    'application/x-ndjson;q=0.5',
    'image/png',
    'multipart/mixed',
    '*/*;q=0',
  ),
  'accept-encoding': one('gzip', 'br;q=0', '*'),
  'accept-language': odd,
  authorization: one('Bearer', 'Bearer x', 'Bearer eyJhbGciOiJub25lIn0.e30.', 'Basic YTpi', 'bearer  a.b.c'),
  'content-encoding': one('gzip', 'br', 'deflate', 'identity'),
  'content-type': one(
    'application/json',
    'application/json; charset=utf-16',
    'application/json; charset=nothing',
    'application/merge-patch+json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'application/graphql',
    'text/csv',
    'application/zip',
  ),
  cookie: odd,
  forwarded: odd,
  host: one('example.com', 'localhost:0', '[::1]'),
  'idempotency-key': one('a', 'b', 'x'.repeat(255), 'x'.repeat(256)),
  'if-match': one('*', '""', 'W/"x", "y"', ','.repeat(1000)),
  'if-none-match': one('*', '""'),
  'last-event-id': one('ended', 'OWN.eventId.', 'ALIEN.eventId.', '0'),
  origin: one('null', 'https://evil.example'),
  prefer: one('wait=0', 'wait=-1', 'respond-async', 'wait'),
  range: one('bytes=0-1', 'bytes=-'),
  te: one('trailers'),
  traceparent: one('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-0-0-0'),
  'x-forwarded-for': odd,
  'x-forwarded-host': odd,
  'x-http-method-override': one('DELETE'),
  'x-request-id': one('sane-1', 'x'.repeat(128)),
};

/** Sometimes a few unusual headers. */
export const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc
      .subarray(Object.keys(known), { minLength: 1, maxLength: 3 })
      .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, known[name] ?? odd])))),
  },
);

export const who: fc.Arbitrary<FuzzRequest['who']> = fc.oneof(
  { weight: 15, arbitrary: fc.constant('own' as const) },
  { weight: 1, arbitrary: fc.constant('nobody' as const) },
);
