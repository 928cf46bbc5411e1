import { HOUR, MINUTE } from './activations.ts';

/** A contract as its company made it; times in ms since 1970. */
export interface Term {
  id: string;
  company: string;
  vin: string;
  pack: string;
  from: number;
  to: number;
}

/** How a program stands at its manufacturer, and when that changes by itself. */
export interface Standing {
  status: 'ACTIVE' | 'PENDING' | 'ENDING' | 'OFF';
  until: number | null;
}

/** A program (`VIN number`): what contracts say of it, how it stands, and by when it must be right and people know. */
interface Watch extends Standing {
  vin: string;
  /** When it was compared last. */
  seen: number;
  wanted: boolean;
  /** The companies whose contracts needed it last. */
  holders: readonly string[];
  /** A contract is in force, or begins within the gap. */
  near: boolean;
  owed: number;
  told: number;
  /** Contracts that people know to be active. */
  active: Set<string>;
  /** The driver or the manufacturer ended it; `barredAt`: when, if all contracts in force were known to be active. */
  barred: boolean;
  barredAt: number;
  lastActive: number;
  /** When it was off last. */
  lastOff: number;
  orderedEnd: number;
  /** When no contract needed it last, so that its end may have been ordered, and when one did. */
  lastIdle: number;
  lastNear: number;
  /** When a company last asked about it, and when people were told that it was decided against. */
  touched: number;
  refused: number;
}

/** What is not as it must be. */
export interface Fault {
  program: string;
  text: string;
}

interface Options {
  programsOf(term: Term): string[];
  standingOf(program: string): Standing;
  /** Whether a manufacturer activates it at all. */
  isServed(program: string): boolean;
  /** Whether nobody can ask about it. */
  isGone(program: string): boolean;
  gapMs: number;
  clock(): number;
}

/** The claim, the wait between two looks, and a contract of another company that is to be planned. */
const AT_ONCE = 2 * MINUTE;
/** The longest wait after a fault: 900 s × 1.25 × 1.1. */
const AFTER_FAULT = 25 * MINUTE;
/** The longest wait for a decision: 6 hours × 1.1. */
export const LOOK = 7 * HOUR;
/** An active program is looked at each day. */
export const DAILY = 27 * HOUR;
/** Lists lag behind by so much at most. */
export const LONGEST_LAG = 10_000;
const HISTORY = 80;

/** What contracts need of manufacturers, by a clock and rules of its own, and whether manufacturers have it. */
export class Wishes {
  readonly programs = new Map<string, Watch>();
  readonly #ofVin = new Map<string, string[]>();
  #terms = new Map<string, Term>();
  #byProgram = new Map<string, Term[]>();
  readonly #history = new Map<string, string[]>();
  /** Faults are over from then on. */
  #calm = 0;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  get terms(): ReadonlyMap<string, Term> {
    return this.#terms;
  }

  note(vin: string, text: string): void {
    const own = this.#history.get(vin) ?? [];
    own.push(`${new Date(this.#options.clock()).toISOString()} ${text}`);
    this.#history.set(vin, own.slice(-HISTORY));
  }

  historyOf(program: string): string {
    return (this.#history.get(program.slice(0, 17)) ?? []).join('\n');
  }

  watch(program: string): Watch {
    const known = this.programs.get(program);
    if (known) return known;
    const vin = program.slice(0, 17);
    const owed = this.#options.clock() + AT_ONCE;
    const one: Watch = {
      ...{
        vin,
        seen: this.#options.clock(),
        wanted: false,
        holders: [],
        near: false,
        status: 'OFF',
        until: null,
        owed,
        told: owed,
        barred: false,
        barredAt: 0,
        active: new Set<string>(),
      },
      ...{ lastActive: 0, lastOff: 0, orderedEnd: 0, lastIdle: 0, lastNear: 0, touched: owed, refused: 0 },
    };
    this.programs.set(program, one);
    this.#ofVin.set(vin, [...(this.#ofVin.get(vin) ?? []), program]);
    return one;
  }

  /** The contracts of these companies are these. Gives the vehicles of those that have changed. */
  set(companies: readonly string[], terms: readonly Term[]): Set<string> {
    const old = this.#terms;
    const others = [...old.values()].filter(({ company }) => !companies.includes(company));
    this.#terms = new Map([...others, ...terms].map((one) => [one.id, one]));
    const changed = terms.filter((one) => old.get(one.id)?.to !== one.to);
    const gone = [...old.values()].filter(({ id }) => !this.#terms.has(id));
    if (changed.length + gone.length > 0) this.sort();
    for (const one of changed) {
      const period = `${new Date(one.from).toISOString()} to ${new Date(one.to).toISOString()}`;
      this.#changed(one, `pack ${one.pack}: ${period}`);
    }
    for (const one of gone) {
      this.#changed(one, 'is deleted');
      this.#unexpect(one);
    }
    return new Set([...changed, ...gone].map(({ vin }) => vin));
  }

  /** Contracts, or what packs consist of, have changed. */
  sort(): void {
    const pairs = [...this.#terms.values()].flatMap((term) =>
      this.#options.programsOf(term).map((program) => ({ program, term })),
    );
    const grouped = Map.groupBy(pairs, ({ program }) => program);
    this.#byProgram = new Map([...grouped].map(([program, own]) => [program, own.map(({ term }) => term)]));
  }

  #changed(term: Term, text: string): void {
    this.note(term.vin, `contract ${term.id} of ${term.company}, ${text}`);
    for (const program of this.#options.programsOf(term)) {
      const one = this.watch(program);
      one.told = Math.max(one.told, this.#options.clock() + LOOK);
    }
  }

  /** An end that waits for a contract of another company is ordered by when that would have begun, within the gap. */
  #unexpect(term: Term): void {
    if (term.from <= this.#options.clock()) return;
    for (const program of this.#options.programsOf(term))
      if (!this.watch(program).holders.includes(term.company)) this.disturb(program, this.#options.gapMs + AT_ONCE);
  }

  /** A company asks anew about a vehicle. */
  touch(vin: string, text: string): void {
    this.note(vin, text);
    const now = this.#options.clock();
    for (const program of this.#ofVin.get(vin) ?? []) {
      const one = this.watch(program);
      Object.assign(one, { touched: now, told: Math.max(one.told, now + LOOK) });
    }
  }

  /** A program, or its manufacturer, did what nobody can know at once. */
  disturb(program: string, ms: number): void {
    const one = this.watch(program);
    one.owed = Math.max(one.owed, this.#options.clock() + ms);
  }

  /** Manufacturers gave no answer, or nobody asked them. */
  fault(): void {
    this.#calm = this.#options.clock() + AFTER_FAULT;
  }

  /** Whether all questions since then have been answered. */
  isCalmSince(at: number): boolean {
    return this.#calm < at + AFTER_FAULT;
  }

  /** Whether one of the contracts begins by `from` and goes on after `to`. */
  needs(program: string, from: number, to: number, isMeant: (one: Term) => boolean = () => true): boolean {
    return (this.#byProgram.get(program) ?? []).some((one) => one.from <= from && one.to > to && isMeant(one));
  }

  /** The contracts whose packs need a program, by the settings of now. */
  needersOf(program: string): ReadonlySet<string> {
    return new Set((this.#byProgram.get(program) ?? []).map(({ id }) => id));
  }

  /** Whether people know of each contract in force that the program is active. */
  isKnownActive(program: string): boolean {
    const now = this.#options.clock();
    const { active } = this.watch(program);
    const inForce = (this.#byProgram.get(program) ?? []).filter(({ from, to }) => from <= now && to > now);
    return this.isSettled(program, now) && inForce.every(({ id }) => active.has(id));
  }

  faultOf(program: string, text: string): Fault {
    return { program, text: `${new Date(this.#options.clock()).toISOString()} ${program} ${text}` };
  }

  /** The next time at which a contract begins or ends. */
  nextChange(now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { from, to } of this.#terms.values()) for (const at of [from, to]) if (at > now && at < next) next = at;
    return next;
  }

  /** Compares what contracts say, and how programs stand, with the moment before: all of them, or those of some vehicles. */
  tick(vins: Iterable<string> = this.#ofVin.keys()): void {
    for (const vin of vins) for (const program of this.#ofVin.get(vin) ?? []) this.#compare(program);
  }

  #compare(program: string): void {
    const now = this.#options.clock();
    const one = this.watch(program);
    const inForce = (this.#byProgram.get(program) ?? []).filter(({ from, to }) => from <= now && to > now);
    const wanted = inForce.length > 0;
    if (wanted) one.holders = inForce.map(({ company }) => company);
    const near = this.needs(program, now + this.#options.gapMs, now);
    const { status, until } = this.#options.standingOf(program);
    // A contract that has begun is a new question.
    const begun = (this.#byProgram.get(program) ?? []).some(({ from }) => from > one.seen && from <= now);
    if (begun) Object.assign(one, { touched: now, told: Math.max(one.told, now + LOOK) });
    if (wanted !== one.wanted || near !== one.near) {
      this.note(one.vin, `${program} is ${wanted ? 'wanted' : near ? 'wanted soon' : 'not wanted'}`);
      one.owed = Math.max(one.owed, now + AT_ONCE);
      one.told = Math.max(one.told, now + LOOK);
      one.touched = now;
    }
    if (!near) Object.assign(one, { barred: false, barredAt: 0, refused: 0 });
    // While its provider has no settings, the gateway may take it for not needed.
    if (!near || this.#options.isGone(program)) one.lastIdle = now;
    if (status !== one.status) {
      this.note(one.vin, `${program} is ${status}`);
      one.told = Math.max(one.told, now + LOOK);
      if (status === 'ACTIVE') one.barred = false;
    }
    if (status === 'ACTIVE') one.lastActive = now;
    if (status === 'OFF') one.lastOff = now;
    if (near) one.lastNear = now;
    // It can be ordered when it has ended, which looks find sooner or later, and ended when it is decided.
    if (status === 'ENDING' && wanted) {
      const isLong = (until ?? now) > now + 10 * MINUTE;
      one.owed = Math.max(one.owed, (until ?? now) + (isLong ? LOOK : AFTER_FAULT));
    }
    if (status === 'PENDING' && !near) one.owed = Math.max(one.owed, (until ?? now) + LOOK);
    one.told = Math.max(one.told, one.owed + LOOK);
    Object.assign(one, { wanted, near, status, until, seen: now });
  }

  /** Whether by `at`, when everything that was due had been done, a program had to be right and known as it is. */
  isSettled(program: string, at: number, by: 'owed' | 'told' = 'owed'): boolean {
    const one = this.watch(program);
    return !this.#options.isGone(program) && at > Math.max(one[by], this.#calm + (by === 'told' ? LOOK : 0));
  }

  /** Programs that are on, and that no contract needs. */
  excess(): string[] {
    return [...this.programs].flatMap(([program, { status, near }]) => (status !== 'OFF' && !near ? program : []));
  }

  /** What is not as contracts have it, though all that was due by then had been done. */
  faults(at: number): Fault[] {
    return [...this.programs].flatMap(([program, { status, wanted, near, barred }]) => {
      if (!this.isSettled(program, at)) return [];
      const isOn = status === 'ACTIVE' || status === 'PENDING';
      if (isOn && !near) return this.faultOf(program, `is ${status}, and no contract needs it`);
      const isMissing = wanted && !isOn && !barred && this.#options.isServed(program);
      return isMissing ? this.faultOf(program, `is ${status}, and a contract needs it`) : [];
    });
  }
}
