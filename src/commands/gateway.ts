import { z } from 'zod';
import { tokenCommand } from './token.ts';

/** The options by which every command finds a running gateway, for parseArgs. */
export const gatewayOptions = { url: { type: 'string' }, token: { type: 'string' } } as const;

/** `importId` is the import whose report the problem is. */
const problem = z.object({ detail: z.string(), code: z.string(), importId: z.string().optional() });

/** A call that failed; its message is for the terminal. */
export class CallFailed extends Error {
  /** undefined where no answer came. */
  readonly answer: { status: number; headers: Headers } | undefined;
  /** The error in the answer; undefined where the answer is not the gateway's. */
  readonly problem: z.output<typeof problem> | undefined;

  constructor(message: string, { answer, problem }: Partial<Pick<CallFailed, 'answer' | 'problem'>> = {}) {
    super(message);
    this.answer = answer;
    this.problem = problem;
  }
}

/** A running gateway, called by its public interface with one token. Every call throws CallFailed. */
export class Gateway {
  readonly url: string;
  readonly #authorization: string;

  /** Missing options come from the environment, or are those of a gateway with these settings and its company "demo". */
  static async open({ url, token }: { url?: string | undefined; token?: string | undefined }, env: NodeJS.ProcessEnv) {
    const known = token || env.FLEET_GATEWAY_TOKEN || (await developmentToken(env));
    return new Gateway(url || env.FLEET_GATEWAY_URL || `http://127.0.0.1:${env.PORT || 4000}`, known);
  }

  constructor(url: string, token: string) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new Error(`${url} is not an http address.`);
    this.url = url.replace(/\/$/, '');
    this.#authorization = `Bearer ${token}`;
  }

  async send(method: string, path: string, init: Omit<RequestInit, 'method'> = {}): Promise<Response> {
    const headers = { authorization: this.#authorization, ...(init.headers as Record<string, string>) };
    const answer = await fetch(this.url + path, { ...init, method, headers }).catch((cause: unknown) => {
      throw new CallFailed(`No answer from ${this.url}: ${reasonOf(cause)}`);
    });
    if (answer.ok) return answer;
    const { data } = problem.safeParse(await answer.json().catch(() => null));
    const message = data ? `${data.detail} (${data.code})` : `The gateway's address answered ${answer.status}.`;
    throw new CallFailed(message, { answer, problem: data });
  }

  async get<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    return this.#read(await this.send('GET', path), shape);
  }

  async post<T>(path: string, body: unknown, shape: z.ZodType<T>): Promise<T> {
    const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    return this.#read(await this.send('POST', path, json), shape);
  }

  async #read<T>(answer: Response, shape: z.ZodType<T>): Promise<T> {
    const { success, data } = shape.safeParse(await answer.json().catch(() => null));
    if (success) return data;
    throw new CallFailed(`No gateway answers at ${this.url}: see that the address is the gateway's own.`, { answer });
  }
}

async function developmentToken(env: NodeJS.ProcessEnv): Promise<string> {
  return tokenCommand(['--company', 'demo'], env).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`Give a token with --token or in FLEET_GATEWAY_TOKEN. (${reason})`, { cause });
  });
}

/** The reason that fetch failed, which its error has as the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause) return reasonOf(error.cause);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
