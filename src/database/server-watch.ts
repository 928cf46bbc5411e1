import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { PreparingClient, socketOf } from './prepared.ts';

const LOOK_MS = 500;
/** A connection that waits is suspected when nothing has come for so many looks. */
const SUSPECT_LOOKS = 4;
/** A server that does not say hello within this time is silent. */
const ANSWER_MS = 2_500;

/** What pg's client knows of itself, beside its types. */
interface Insides {
  readyForQuery?: boolean;
}
const waits = (client: pg.Client): boolean => (client as unknown as Insides).readyForQuery !== true;

/**
 * Tells a server that is slow, which is waited for, from one that is silent (hanging, or behind a broken network), whose
 * connections would be waited for until the system gives them up after minutes. Where a connection waits in vain for two
 * seconds, another one says hello; without an answer all are cut, and new ones fail at once until somebody answers.
 */
export class ServerWatch {
  /** Makes connections that are watched. */
  readonly Client: typeof PreparingClient;
  readonly #config: pg.ClientConfig;
  readonly #waiting = new Map<pg.Client, { looks: number; bytes: number }>();
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #silent = false;
  #heardAt = 0;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
    const add = (client: pg.Client) => this.#add(client);
    const isSilent = () => this.#silent;
    this.Client = class extends PreparingClient {
      override connect(...args: unknown[]): never {
        if (!isSilent()) {
          add(this);
          return (super.connect as (...args: unknown[]) => never).apply(this, args);
        }
        const refusal = new Error('Connection terminated: the server is silent');
        const [callback] = args;
        if (typeof callback !== 'function') return Promise.reject(refusal) as never;
        return void process.nextTick(callback as () => void, refusal) as never;
      }
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #add(client: pg.Client): void {
    this.#waiting.set(client, { looks: 0, bytes: 0 });
    client.once('end', () => this.#waiting.delete(client));
  }

  #look(): void {
    let suspected = this.#silent;
    for (const [client, last] of this.#waiting) {
      const { bytesRead: bytes } = socketOf(client);
      last.looks = waits(client) && bytes === last.bytes ? last.looks + 1 : 0;
      last.bytes = bytes;
      suspected ||= last.looks >= SUSPECT_LOOKS;
    }
    // Another one each time: a network that comes back does not bring what was lost on it.
    if (suspected) void this.#sayHello();
  }

  async #sayHello(): Promise<void> {
    const began = performance.now();
    const client = new pg.Client(this.#config);
    client.on('error', () => {});
    const hello = client.connect().then(() => client.query('select 1'));
    const tooLate = new AbortController();
    const silence = delay(ANSWER_MS, true, { signal: tooLate.signal }).catch(() => false);
    // An error is an answer too: whoever asks for something is told the same.
    const silent = await Promise.race([
      silence,
      hello.then(
        () => false,
        () => false,
      ),
    ]);
    tooLate.abort();
    socketOf(client).destroy();
    if (!silent) this.#heard();
    else if (began > this.#heardAt) this.#cutAll();
  }

  #heard(): void {
    this.#silent = false;
    this.#heardAt = performance.now();
    for (const last of this.#waiting.values()) last.looks = 0;
  }

  #cutAll(): void {
    this.#silent = true;
    for (const client of this.#waiting.keys()) socketOf(client).destroy();
  }
}
