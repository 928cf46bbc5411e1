import { setTimeout as delay } from 'node:timers/promises';
import { checkAnswer } from './openapi.ts';

/** An answer of the gateway; `body` is the parsed JSON where it was JSON, else the text (null when there is none). */
export interface Answer<Body = Json> {
  status: number;
  headers: Headers;
  body: Body;
}

/** Where the next page is, where there is one. */
export const nextOf = (headers: Headers): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

/** JSON whose shape the test itself asserts. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer by its assertions.
export type Json = any;

/** What a fetch may be told beside its method and body. */
export type Headed = Record<string, string>;

/** Someone who calls the gateway over HTTP, with one token or none. */
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

  /** Sends `body` as JSON (and holds the answer against openapi.json); strings, forms and blobs go as they are, with the content type that `headers` name. */
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

/** What an endless stream says until it falls silent. */
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
