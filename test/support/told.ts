import { HOUR, MINUTE } from './activations.ts';
import type { Json } from './client.ts';
import { DAILY, type Fault, LONGEST_LAG, LOOK, type Term, type Wishes } from './wishes.ts';

interface Options {
  wishes: Wishes;
  programsOf(term: Term): string[];
  /** The state to which a program comes that is wanted. */
  outcomeOf(program: string): string;
  isGone(program: string): boolean;
}

const RANK = ['REJECTED', 'FAILED', 'PENDING', 'ACTIVE'];

/** Whether what people are told of contracts is true: their states, and the events. */
export class Told {
  readonly #options: Options;
  /** Contracts by id, and whether people were told last that they are active, with the programs of their packs at that time. */
  readonly #contracts = new Map<string, { term: Term; isActive: boolean; rejected: number; programs: string[] }>();
  readonly faults: Fault[] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  #fault(term: Term, text: string): void {
    this.faults.push(this.#options.wishes.faultOf(term.vin, `${text}: contract ${term.id}`));
  }

  event({ type, contractId, timestamp }: Json): void {
    const { wishes, programsOf } = this.#options;
    const term = wishes.terms.get(contractId) ?? this.#contracts.get(contractId)?.term;
    // Created and deleted within a step.
    if (!term) return;
    const one = this.#contracts.get(contractId) ?? { term, isActive: false, rejected: 0, programs: [] };
    this.#contracts.set(contractId, one);
    one.term = term;
    wishes.note(term.vin, `${type} of ${contractId} at ${timestamp}`);
    const at = Date.parse(timestamp);
    if (type === 'contract.deactivated' && !one.isActive) this.#fault(term, 'deactivated, and was not active');
    if (type !== 'contract.deactivated' && one.isActive) this.#fault(term, `${type}, and is active`);
    if (type === 'contract.rejected') {
      // What has become active since, another company may have asked for: then the contract waited again.
      const watched = [...one.programs, ...programsOf(term)].map((program) => wishes.watch(program));
      const touched = Math.max(0, ...watched.map((program) => Math.max(program.touched, program.lastActive)));
      // The list may have shown the decision before.
      if (one.rejected > touched + LONGEST_LAG) this.#fault(term, 'rejected twice');
      one.rejected = at;
    }
    one.isActive = type === 'contract.activated';
    one.programs = programsOf(term);
    for (const { active } of one.programs.map((program) => wishes.watch(program)))
      if (one.isActive) active.add(contractId);
      else active.delete(contractId);
  }

  /** Compares the state of a contract, read at `now`, with its programs as they had to be by `at`. */
  state({ id, activation }: Json, now: number, at: number): void {
    const { wishes, programsOf, isGone } = this.#options;
    const term = wishes.terms.get(id);
    if (!term) return;
    // Nor can anybody say what a pack needs of a provider that is away.
    if (isGone(term.vin)) return;
    const programs = programsOf(term);
    const { state } = activation;
    if ((state === 'SCHEDULED') !== now < term.from && Math.abs(now - term.from) > 5000)
      this.#fault(term, `${state} at ${new Date(now).toISOString()}`);
    if (activation.reason?.code === 'ACCESS_REVOKED')
      for (const one of programs.map((program) => wishes.watch(program)))
        if (one.barred) one.refused ||= Date.parse(activation.changedAt);
    const lost = programs.filter(
      (program) => wishes.isSettled(program, at) && now - wishes.watch(program).lastActive > DAILY + 2 * HOUR,
    );
    if (state === 'ACTIVE' && lost.length > 0) this.#fault(term, `ACTIVE, and ${lost} is not`);
    const unconfirmed = programs.filter((program) => {
      const one = wishes.watch(program);
      const isOver = one.status !== 'OFF' && !one.near && now > term.to + HOUR;
      return isOver && one.lastOff < term.to - MINUTE && one.lastNear < term.to;
    });
    // What was over before it was asked for has nothing to be ended.
    if (state === 'ENDED' && this.#contracts.has(id) && unconfirmed.length > 0 && programs.length === 1)
      this.#fault(term, `ENDED, and ${unconfirmed} never was off`);
    const expected = this.#expected(term, programs, now, at);
    if (expected && !expected.includes(state)) this.#fault(term, `${state}, and must be ${expected}`);
  }

  /** The states that people may see, once all have had time to be told. */
  #expected(term: Term, programs: string[], now: number, at: number): string[] | null {
    const { wishes, outcomeOf } = this.#options;
    if (at < term.from + LOOK || !programs.every((program) => wishes.isSettled(program, at, 'told'))) return null;
    // Nobody can say what a pack needed that the settings have no longer.
    if (programs.length === 0 && now >= term.to) return null;
    if (at >= term.to + LOOK) {
      const left = programs
        .map((program) => wishes.watch(program))
        .filter(({ status, wanted }) => status !== 'OFF' && !wanted);
      return left.length === 0 ? ['ENDED'] : ['ENDING', 'ENDED'];
    }
    if (now >= term.to) return null;
    if (programs.length === 0) return ['UNSUPPORTED'];
    const states = programs.map((program) => {
      const { status, barred } = wishes.watch(program);
      if (status === 'ACTIVE' || status === 'PENDING') return status;
      if (barred) return 'REJECTED';
      return outcomeOf(program) === 'ACTIVE' ? 'PENDING' : outcomeOf(program);
    });
    // What another company asked for anew need not be told to those who were refused before.
    const isOld = this.#contracts.get(term.id)?.isActive === false && states.includes('PENDING');
    return [...RANK.filter((state) => states.includes(state)).slice(0, 1), ...(isOld ? ['REJECTED', 'FAILED'] : [])];
  }

  /** Contracts that were active, and are over: people hear of it when all had time to be told by `at`. */
  ends(at: number): void {
    const { wishes, programsOf, isGone } = this.#options;
    for (const [id, { term, isActive, programs: before }] of this.#contracts) {
      const isLeft = (wishes.terms.get(id)?.to ?? 0) + LOOK > at;
      if (isLeft) continue;
      const programs = [...before, ...programsOf(term)];
      const isOver = programs.every((program) => {
        const { status, wanted } = wishes.watch(program);
        return wishes.isSettled(program, at, 'told') && (status === 'OFF' || wanted);
      });
      if (!isOver || isGone(term.vin)) continue;
      if (isActive) this.#fault(term, 'over, and not deactivated');
      if (!wishes.terms.has(id)) this.#contracts.delete(id);
    }
  }
}
