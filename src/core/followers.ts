import { addAbortListener } from 'node:events';
import { LRUCache } from 'lru-cache';
import { SharedPlaces } from '../fairness/shares.ts';
import type { ChangeFeed, ChangeListeners } from './changes.ts';
import { RateLimited } from './errors.ts';

/** Wakes a waiting follower. Rings while it does not wait end its next wait only. */
export class WakeSignal {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  forget(): void {
    this.#rung = false;
  }

  /** True when it rings, or has since the last wait; false when the time is up or the signal aborts. */
  async wait({ ms, signal }: { ms?: number; signal: AbortSignal }): Promise<boolean> {
    if (!this.#rung && !signal.aborted) await this.#sleep(ms, signal);
    const rung = this.#rung && !signal.aborted;
    this.#rung = false;
    return rung;
  }

  async #sleep(ms: number | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    using _aborted = addAbortListener(signal, () => resolve());
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }
}

/** Shared sources refresh at this interval, since news may be lost. */
const LOOK_MS = 20_000;

/** Characters or bytes of the texts that are kept for followers who are a little slower. */
const MOST_KEPT = 32 * 1024 * 1024;

const MOST_OF_COMPANY = 1000;
const TOO_MANY = `At most ${MOST_OF_COMPANY.toLocaleString('en')} streams and waits of a company at a time. Try again when one has ended.`;
const RETRY_SECONDS = 10;

export interface FollowedSource {
  /** Listeners for news; those that return true wake the followers. */
  readonly listeners: ChangeListeners;
  /** Drops old news from time to time; returns whether the followers should look. */
  refresh(followers: ReadonlySet<Follower>): boolean;
}

/** A follower of a source: it rings when there may be more to read. */
export class Follower extends WakeSignal {
  /** The follower's position, as its source counts. */
  heard = 0;
}

type Text = string | Buffer;

interface SharedObject {
  number: number;
  /** Reads of what an object's fields refer to, by statement. */
  reads: Map<string, Promise<unknown>>;
}

type SourceKey = readonly [kind: string, company: string, id?: string];
type Opened = { source: FollowedSource; followers: Set<Follower>; close(): void };

/** Followers with the same key share a source, which is opened for the first of them and dropped after the last. */
export class Followers {
  readonly #changes: ChangeFeed;
  readonly #opened = new Map<string, Opened>();
  readonly #shared = new WeakMap<object, SharedObject>();
  #lastNumber = 0;
  readonly #texts = new LRUCache<string, Text, () => Text | Promise<Text>>({
    maxSize: MOST_KEPT,
    sizeCalculation: ({ length }) => length + 1,
    fetchMethod: async (_name, _stale, { context: make }) => make(),
    // A text that is dropped while it is made is made for those who wait.
    ignoreFetchAbort: true,
  });
  readonly #places: SharedPlaces;

  constructor(changes: ChangeFeed, most: number) {
    this.#changes = changes;
    this.#places = new SharedPlaces({ capacity: most, reserve: Math.floor(most / 4) });
  }

  get count(): number {
    return this.#opened.values().reduce((sum, { followers }) => sum + followers.size, 0);
  }

  /** Joins a source until the signal aborts or `leave` is called; throws RateLimited for too many of a company. */
  join<T extends FollowedSource>(key: SourceKey, open: () => T, signal: AbortSignal) {
    const giveBack = this.#places.take(key[1], MOST_OF_COMPANY);
    if (!giveBack) throw new RateLimited(RETRY_SECONDS, TOO_MANY);
    const name = JSON.stringify(key);
    const opened = this.#opened.get(name) ?? this.#open(open());
    this.#opened.set(name, opened);
    const follower = new Follower();
    opened.followers.add(follower);
    const leave = () => {
      signal.removeEventListener('abort', leave);
      giveBack();
      if (!opened.followers.delete(follower) || opened.followers.size > 0) return;
      this.#opened.delete(name);
      opened.close();
    };
    // The signal ends it, too: a generator without a reader may never reach its `finally`.
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    return { source: opened.source as T, follower, leave };
  }

  #open(source: FollowedSource): Opened {
    const over = new AbortController();
    const followers = new Set<Follower>();
    const ring = () => {
      for (const one of followers) one.ring();
    };
    const listeners = Object.entries(source.listeners).map(([event, listener]) => [
      event,
      (...news: never[]) => (listener as (...news: never[]) => unknown)(...news) && ring(),
    ]);
    this.#changes.follow(Object.fromEntries(listeners), over.signal);
    const timer = setInterval(() => source.refresh(followers) && ring(), LOOK_MS);
    const close = () => {
      clearInterval(timer);
      over.abort();
    };
    return { source, followers, close };
  }

  /** Marks an object that several followers get: they share its texts, and reads of what its fields refer to. */
  share<T extends object>(object: T): T {
    this.#shared.set(object, { number: ++this.#lastNumber, reads: new Map() });
    return object;
  }

  isShared(object: object): boolean {
    return this.#shared.has(object);
  }

  /** A text of a shared object, made once for all followers that ask alike. */
  async textOf<T extends Text>(object: object, variant: string, make: () => T | Promise<T>): Promise<T> {
    const number = this.#shared.get(object)?.number;
    if (number === undefined) return make();
    return (await this.#texts.forceFetch(`${number} ${variant}`, { context: make })) as T;
  }

  /** Reads what an object's fields refer to, once by each statement for all followers that share the object. */
  readOf<T>(object: object, statement: readonly unknown[], read: () => Promise<T>): Promise<T> {
    const reads = this.#shared.get(object)?.reads;
    if (!reads) return read();
    const key = JSON.stringify(statement);
    const known = reads.get(key);
    if (known) return known as Promise<T>;
    const made = read();
    reads.set(key, made);
    made.catch(() => reads.delete(key));
    return made;
  }
}
