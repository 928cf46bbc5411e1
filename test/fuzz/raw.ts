import fc from 'fast-check';
import { sendRaw, statusesOf } from '../support/raw.ts';
import { leaks, type Secrets } from './judge.ts';
import { bytesOf, naughty } from './values.ts';

const host = 'Host: localhost\n';
const json = `${host}Content-Type: application/json\n`;

/** Requests that no HTTP client would send. */
const odd: readonly string[] = [
  'GET /livez HTTP/1.1\n',
  'GET /livez HTTP/1.1\n\n',
  `GET /livez HTTP/1.1\n${host}`,
  `GET /livez HTTP/1.0\n\n`,
  `GET /livez HTTP/2.0\n${host}\n`,
  `GET /livez HTTP/9.9\n${host}\n`,
  `GET /livez\n\n`,
  `GET http://example.com/fleets HTTP/1.1\n${host}\n`,
  `GET //example.com/fleets HTTP/1.1\n${host}\n`,
  `GET \\fleets HTTP/1.1\n${host}\n`,
  `GET ?a HTTP/1.1\n${host}\n`,
  `GET * HTTP/1.1\n${host}\n`,
  `OPTIONS * HTTP/1.1\n${host}\n`,
  `CONNECT example.com:443 HTTP/1.1\n${host}\n`,
  `NONSENSE /fleets HTTP/1.1\n${host}\n`,
  `QUERY /fleets HTTP/1.1\n${host}\n`,
  `PRI * HTTP/2.0\n\nSM\n\n`,
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  `GET /livez HTTP/1.1\n${host}${host}\n`,
  `GET /livez HTTP/1.1\nHost:\n\n`,
  `GET /livez HTTP/1.1\nHost: a b\n\n`,
  `GET /livez HTTP/1.1\n${host} folded: x\n\n`,
  `GET /livez HTTP/1.1\n${host}a\0b: c\n\n`,
  `GET /livez HTTP/1.1\n${host}X: ${'x'.repeat(20_000)}\n\n`,
  `GET /livez HTTP/1.1\n${host}${'A: b\n'.repeat(3_000)}\n`,
  `GET /${'x'.repeat(20_000)} HTTP/1.1\n${host}\n`,
  `GET /fleets/\xff\xfe HTTP/1.1\n${host}\n`,
  `GET /fleets/\0 HTTP/1.1\n${host}\n`,
  `GET /livez HTTP/1.1\n${host}Expect: nonsense\n\n`,
  `GET /livez HTTP/1.1\n${host}Upgrade: websocket\nConnection: Upgrade\n\n`,
  `GET /livez HTTP/1.1\n${host}Upgrade: h2c\nConnection: Upgrade, HTTP2-Settings\nHTTP2-Settings: x\n\n`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: -1\n\n{}`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 1e3\n\n{}`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 2\nContent-Length: 3\n\n{}`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 99999999999999999999\n\n{}`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 2\nTransfer-Encoding: chunked\n\n0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: gzip\n\n{}`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked, chunked\n\n0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\nzz\n{}\n0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\n-1\n{}\n0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\nffffffffffffffff\n{}\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\n2;${'x'.repeat(20_000)}\n{}\n0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\n2\n{}XX0\n\n`,
  `POST /fleets HTTP/1.1\n${json}Transfer-Encoding: chunked\n\n2\n{}\n0\nTrailer: x\n\n`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 100\n\n{"name":`,
  `POST /graphql HTTP/1.1\n${json}Transfer-Encoding: chunked\n\n5\n{"que\n`,
  `POST /graphql HTTP/1.1\n${json}Content-Length: 20\n\n{"query":"{__typ`,
  `POST /graphql HTTP/1.1\n${json}Content-Length: 0\n\n`,
  `POST /vehicles/file HTTP/1.1\n${host}Content-Type: multipart/form-data; boundary=b\nTransfer-Encoding: chunked\n\n5\n--b\r\n\n`,
  `GET /livez HTTP/1.1\n${host}\nGET /manufacturers HTTP/1.1\n${host}\nGET /nothing HTTP/1.1\n${host}\n`,
  `${`GET /livez HTTP/1.1\n${host}\n`.repeat(50)}`,
  `POST /fleets HTTP/1.1\n${json}Content-Length: 2\n\n{}GARBAGE`,
];

/** A request of `odd`, possibly with an insertion. */
export const rawRequest: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...odd) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...odd), naughty.map(bytesOf), fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([text, put, at]) => {
        const place = Math.floor(at * text.length);
        return text.slice(0, place) + put + text.slice(place);
      }),
  },
);

/** Faults of the response to raw text. Silence is allowed. */
export async function rawFaults(url: string, text: string, secrets: Secrets): Promise<string[]> {
  const answers = await sendRaw(url, text, SILENCE_MS);
  const failed = statusesOf(answers).filter((status) => status >= 500);
  return [...failed.map((status) => `status ${status}`), ...leaks(answers, text, secrets)];
}

const SILENCE_MS = 150;
