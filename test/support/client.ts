import { setTimeout as delay } from 'node:timers/promises';
import { checkAnswer } from './openapi.ts';

/** A response of the gateway; `body` is the parsed JSON, the text if it is no JSON, or null if there is none. */
export interface Answer<Body = Json> {
  status: number;
  headers: Headers;
  body: Body;
}

/** The URL of the next page from the Link header, if any. */
export const nextOf = (headers: Headers): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

/** JSON whose shape the test itself asserts. */
// biome-ignore lint/suspicious/noExplicitAny: a test's assertions say what an answer must look like.
export type Json = any;

/** Request headers. */
export type Headed = Record<string, string>;

/** An HTTP client of the gateway, with one token or none. */
export class Client {
  readonly url: string;
  readonly headers: Headed;

  constructor(url: string, headers: Headed = {}) {
    this.url = url;
    this.headers = headers;
  }

  get = (path: string, headers?: Headed) => this.send('GET', path, undefined, headers);
  post = (path: string, body?: unknown, headers?: Headed) => this.send('POST', path, body, headers);
  patch = (path: string, body?: unknown, headers?: Headed) => this.send('PATCH', path, body, headers);
  delete = (path: string, body?: unknown, headers?: Headed) => this.send('DELETE', path, body, headers);

  /** Sends `body` as JSON and validates the response against openapi.json. Strings, forms and blobs go as they are. */
  async send(method: string, path: string, body?: unknown, headers: Headed = {}): Promise<Answer> {
    const raw = typeof body === 'string' || body instanceof FormData || body instanceof Blob;
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        ...this.headers,
        ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
    });
    const type = response.headers.get('content-type') ?? '';
    const text = type.startsWith('text/event-stream') ? await beginningOf(response) : await response.text();
    const isJson = /\bjson\b/.test(type);
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text || null,
    };
    checkAnswer(method, new URL(path, this.url).pathname, answer);
    return answer;
  }
}

/** Reads an endless stream until it is silent for SILENCE_MS. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const silence = Symbol();
  let text = '';
  for (;;) {
    const next = await Promise.race([reader?.read(), delay(SILENCE_MS, silence)]);
    if (typeof next === 'symbol' || !next?.value) break;
    text += new TextDecoder().decode(next.value);
  }
  await reader?.cancel();
  return text;
}

const SILENCE_MS = 300;
