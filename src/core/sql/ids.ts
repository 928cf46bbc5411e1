import { getRandomValues } from 'node:crypto';
import { NIL, v7, validate } from 'uuid';

/** All ids come after it. */
export const FIRST_ID: string = NIL;

const ID_BYTES = 16;

class Ids {
  /** Random bytes for many ids: a call of the system for each would cost more than the id. */
  readonly #random = new Uint8Array(4096);
  #left = 0;
  #msecs = 0;
  #seq = 0;

  next(): string {
    if (this.#left === 0) this.#left = getRandomValues(this.#random).length;
    this.#left -= ID_BYTES;
    const random = this.#random.subarray(this.#left, this.#left + ID_BYTES);
    const now = Date.now();
    if (now > this.#msecs) {
      this.#msecs = now;
      this.#seq = new DataView(random.buffer, random.byteOffset).getUint32(6) >>> 1;
    } else this.#seq += 1;
    return v7({ msecs: this.#msecs, seq: this.#seq, random });
  }
}

const ids = new Ids();

/** A new UUIDv7; within one process later ids are greater. */
export const newId = (): string => ids.next();

/** The smallest UUIDv7 of a millisecond of the clock. */
export const firstIdOf = (time: number): string =>
  v7({ msecs: Math.max(0, time), seq: 0, random: new Uint8Array(ID_BYTES) });

/** Whether the database accepts this as an id. No row has another. */
export const isId = (value: string): boolean => validate(value);
