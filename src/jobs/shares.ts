/** One in so many slots is for parties that come with none. */
const KEPT = 4;
/** A cautious party takes one slot for so many that it leaves. */
const CAUTIOUS = 7;

/**
 * Slots that are shared by parties, so that nobody waits long because others hold all of them. A party may take as many
 * as it then leaves free, beside those that are kept; a cautious one fewer. Whoever holds none gets one of those that are
 * kept, unless it is cautious.
 */
export class Shares {
  readonly #slots: number;
  readonly #held = new Map<string, number>();
  /** When each party last took some, in turns. */
  readonly #served = new Map<string, number>();
  #taken = 0;
  #turn = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  get free(): number {
    return this.#slots - this.#taken;
  }

  /** How many more slots the party may take now. */
  room(party: string, { cautious }: { cautious: boolean }): number {
    const held = this.#held.get(party) ?? 0;
    const parts = cautious ? CAUTIOUS : 1;
    const open = this.free - Math.floor(this.#slots / KEPT);
    const share = Math.floor((open - parts * held) / (parts + 1));
    return Math.max(share, held === 0 && (cautious ? open : this.free) > 0 ? 1 : 0);
  }

  take(party: string): void {
    this.#held.set(party, (this.#held.get(party) ?? 0) + 1);
    this.#served.set(party, ++this.#turn);
    this.#taken += 1;
  }

  /** Gives how many the party still holds. */
  giveBack(party: string): number {
    const left = (this.#held.get(party) ?? 1) - 1;
    if (left > 0) this.#held.set(party, left);
    else this.#held.delete(party);
    this.#taken -= 1;
    return left;
  }

  /** These parties in their turn: who took some last comes last. The others are forgotten. */
  inTurn<Party>(parties: readonly Party[], nameOf: (party: Party) => string): Party[] {
    const names = new Set(parties.map(nameOf));
    for (const name of this.#served.keys()) if (!names.has(name)) this.#served.delete(name);
    const turn = (party: Party) => this.#served.get(nameOf(party)) ?? 0;
    return parties.toSorted((a, b) => turn(a) - turn(b));
  }
}
