import {
  giveBackLostClaim,
  giveSignOfLife,
  type LostClaim,
  SIGN_OF_LIFE_SECONDS,
  takeOverClaims,
  unregisterWorker,
} from '../core/companies/take-over-claims.ts';
import type { Context } from '../core/context.ts';
import type { Job, Tools } from './job.ts';

/** What jobs need that claim vehicles or programs. */
export interface ClaimingTools extends Tools {
  claims: Claims;
}

/** Gives signs of life while this process has claims, and ends those of dead processes. */
export class Claims implements Job {
  readonly #open: () => Context;
  readonly #held = new Set<Promise<unknown>>();
  /** Times in ms since 1970; null while this process has claimed nothing. */
  #signed: { at: number; until: number } | null = null;
  readonly #lost = new Set<LostClaim>();

  constructor(open: () => Context) {
    this.#open = open;
  }

  /** To be called before each claim: it needs a sign of life of this process. */
  async open(ctx: Context): Promise<void> {
    const isFirst = this.#signed === null;
    if (this.#isSilent(ctx)) await this.#sign(ctx);
    if (isFirst) ctx.services.changes.emit('due', 'claim');
  }

  /** What was claimed of these companies is this process's until this work ends. */
  hold(work: Promise<unknown>, companies: Iterable<string>): void {
    const { fence } = this.#open().services;
    this.#held.add(work);
    void work.then(() => this.#held.delete(work));
    for (const company of companies) fence?.hold(company, work);
  }

  /** Makes a claim, and notes it where its answer is lost: what it holds is given back until it ends. */
  async noting<T>(claim: LostClaim, claiming: () => Promise<T>): Promise<T> {
    try {
      return await claiming();
    } catch (error) {
      this.#lost.add(claim);
      this.#open().services.changes.emit('due', 'claim');
      throw error;
    }
  }

  /** When others may take the claims over (ms since 1970). */
  get endAt(): number {
    return this.#signed?.until ?? Number.NEGATIVE_INFINITY;
  }

  async run(): Promise<string | null> {
    const ctx = this.#open();
    if (this.#signed && this.#isSilent(ctx)) {
      if (this.#held.size > 0) await this.#sign(ctx);
      else await this.#end(ctx);
    }
    // While a company leaves, nothing is done to all companies; claims of dead processes end by themselves, later.
    const next = ctx.services.fence?.isMoving ? null : await this.#takeOver(ctx);
    if (!this.#signed && this.#lost.size === 0) return next;
    const signed = this.#signed?.at ?? ctx.now().getTime();
    const own = new Date(signed + SIGN_OF_LIFE_SECONDS * 1000).toISOString();
    return next !== null && next < own ? next : own;
  }

  async #takeOver(ctx: Context): Promise<string | null> {
    for (const claim of this.#lost) {
      await giveBackLostClaim(ctx, claim);
      if (claim.until <= ctx.now().toISOString()) this.#lost.delete(claim);
    }
    return takeOverClaims(ctx);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#held);
    if (this.#signed) await this.#end(this.#open());
  }

  /** A clock may be set back. */
  #isSilent(ctx: Context): boolean {
    return Math.abs(ctx.now().getTime() - (this.#signed?.at ?? 0)) >= SIGN_OF_LIFE_SECONDS * 1000;
  }

  async #sign(ctx: Context): Promise<void> {
    const at = ctx.now().getTime();
    this.#signed = { at, until: await giveSignOfLife(ctx) };
  }

  async #end(ctx: Context): Promise<void> {
    this.#signed = null;
    await unregisterWorker(ctx);
  }
}
