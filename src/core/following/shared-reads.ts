import { LRUCache } from 'lru-cache';
import type { ChangeListeners } from '../changes.ts';
import type { FollowedSource } from '../followers.ts';
import { getOrCreate } from '../sql/sql.ts';

/** Few, since a page of events may name thousands of vehicles. */
const KEPT = 16;

/** Reads that the followers of a source share until its next news. */
export class SharedReads<T> implements FollowedSource {
  readonly listeners: ChangeListeners;
  readonly #polls: boolean;
  readonly #latest = new LRUCache<string, Promise<T>>({ max: KEPT });

  /** Listeners call `forget` for news of the source; with `polls`, followers read from time to time without any. */
  constructor(listeners: (forget: () => true) => ChangeListeners, { polls }: { polls: boolean }) {
    const forget = () => {
      this.#latest.clear();
      return true as const;
    };
    this.listeners = { ...listeners(forget), missed: forget };
    this.#polls = polls;
  }

  refresh(): boolean {
    this.#latest.clear();
    return this.#polls;
  }

  /** The read of this key: one that failed is made again. */
  once(key: string, read: () => Promise<T>): Promise<T> {
    return getOrCreate<string, Promise<T>>(this.#latest, key, () => {
      const reading = read();
      reading.catch(() => this.#latest.delete(key));
      return reading;
    });
  }
}
