import { z } from 'zod';
import { tokenCommand } from './token.ts';

/** The options by which every command finds a running gateway, for parseArgs. */
export const gatewayOptions = { url: { type: 'string' }, token: { type: 'string' } } as const;

/** The gateway did not answer, or the connection broke before the answer. */
export class Unreachable extends Error {}

const problem = z.object({ detail: z.string(), code: z.string(), importId: z.string().optional() });

/** An answer other than 2xx; `message` is for the terminal. */
export class Rejected extends Error {
  readonly status: number;
  /** Empty where somebody between us and the gateway answered. */
  readonly code: string;
  /** The import whose report this is. */
  readonly importId: string | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;

  constructor(answer: Response, body: string) {
    const { data } = problem.safeParse(readJson(body));
    super(data ? `${data.detail} (${data.code})` : `The gateway's address answered ${answer.status}.`);
    this.status = answer.status;
    this.code = data?.code ?? '';
    this.importId = data?.importId;
    this.retryAfter = Number(answer.headers.get('Retry-After')) || undefined;
  }
}

/** A running gateway, called by its public interface with one token. Every call throws Unreachable or Rejected. */
export class Gateway {
  readonly url: string;
  readonly #authorization: string;

  /** Missing options come from the environment, or are those of a gateway with these settings and its company "demo". */
  static async open({ url, token }: { url?: string | undefined; token?: string | undefined }, env: NodeJS.ProcessEnv) {
    const found = token || env.FLEET_GATEWAY_TOKEN || (await developmentToken(env));
    return new Gateway(url || env.FLEET_GATEWAY_URL || `http://127.0.0.1:${env.PORT || 4000}`, found);
  }

  constructor(url: string, token: string) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new Error(`${url} is not an http address.`);
    this.url = url.replace(/\/$/, '');
    this.#authorization = `Bearer ${token}`;
  }

  async send(method: string, path: string, init: Omit<RequestInit, 'method'> = {}): Promise<Response> {
    const headers = { authorization: this.#authorization, ...(init.headers as Record<string, string>) };
    const answer = await fetch(this.url + path, { ...init, method, headers }).catch((cause: unknown) => {
      throw new Unreachable(`No answer from ${this.url}: ${reasonOf(cause)}`, { cause });
    });
    if (answer.ok) return answer;
    throw new Rejected(answer, await answer.text().catch(() => ''));
  }

  async get<T>(path: string, shape: z.ZodType<T>, signal: AbortSignal | null = null): Promise<T> {
    return shape.parse(await (await this.send('GET', path, { signal })).json());
  }

  async post<T>(path: string, body: unknown, shape: z.ZodType<T>): Promise<T> {
    const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    return shape.parse(await (await this.send('POST', path, json)).json());
  }
}

async function developmentToken(env: NodeJS.ProcessEnv): Promise<string> {
  return tokenCommand(['--company', 'demo'], env).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`Give a token with --token or in FLEET_GATEWAY_TOKEN. (${reason})`, { cause });
  });
}

/** fetch itself only says that it failed; its cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause) return reasonOf(error.cause);
  return error.message || ('code' in error ? String(error.code) : error.name);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
