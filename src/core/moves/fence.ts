import { sql } from 'kysely';
import { StartError } from '../../database/database.ts';
import type { Services } from '../context.ts';
import { CompanyElsewhere, type DomainError, Unavailable } from '../errors.ts';
import { WakeSignal } from '../followers.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';
import { type Placement, type PlacementState, placementChannel } from './placement.ts';

declare module '../context.ts' {
  interface Services {
    /** null: this is the only installation. */
    fence: Fence | null;
  }
}

/** A process without a sign of life for so long begins nothing, and is not waited for. */
const ALIVE_SECONDS = 20;
const SIGN_MS = 5_000;
const LOOK_AGAIN_MS = 1_000;
/** Processes that have gone are forgotten. */
const FORGOTTEN_HOURS = 1;
/** A change may be seen after a later one. */
const OVERLAP_MS = 60_000;

const RETRY_SECONDS = 1;
const MOVES = 'This company is being moved to another installation. Try again in a second.';
const BLIND = 'This gateway has not reached its database for a while, so it does not know which companies are here.';

type Begun = 'request' | 'work';

/** What a process may begin of a company. `work` goes on by itself: jobs and uploads. */
const allowed: Partial<Record<PlacementState, readonly Begun[]>> = {
  HERE: ['request', 'work'],
  COPYING: ['request', 'work'],
  DRAINING: ['request'],
};
/** Refused with the address of the other installation; else for a moment. */
const elsewhere: readonly PlacementState[] = ['ARRIVING', 'ELSEWHERE'];
/** While PostgreSQL copies the company, its rows change in one installation only. */
const copied: readonly PlacementState[] = ['DRAINING', 'HELD', 'ARRIVING', 'ARRIVED'];

const findChanged = prepare((p: { since: string }) =>
  db
    .selectFrom('placement')
    .select(({ ref }) => ['company', 'state', 'installation', 'fence', isoTimeExpression(ref('changed_at')).as('at')])
    .where('changed_at', '>', asTimestamptz(p.since))
    .orderBy('changed_at'),
);

const sign = prepare((p: { id: string; fences: readonly string[]; accounts: readonly string[] }) => {
  const alive_until = sql<string>`now() + make_interval(secs => ${sql.lit(ALIVE_SECONDS)})`;
  const { id, fences, accounts } = p;
  return db
    .with('gone', (q) =>
      q
        .deleteFrom('process')
        .where('alive_until', '<', sql<string>`now() - make_interval(hours => ${sql.lit(FORGOTTEN_HOURS)})`),
    )
    .insertInto('process')
    .values({ id, alive_until, fences, accounts })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until, fences, accounts }));
});

const leave = prepare((p: { id: string }) => db.deleteFrom('process').where('id', '=', p.id));

interface Known extends Placement {
  isOver: boolean;
}

type Opened = Pick<Services, 'config' | 'database' | 'changes'>;

/** Opens the fence of a process; null where there is one installation only. Throws StartError. */
export async function openFence(services: Opened): Promise<Fence | null> {
  const { INSTALLATION, INSTALLATIONS = {} } = services.config;
  const places = await findChanged(services.database.send, { since: '-infinity' });
  const others = places.flatMap(({ state, installation }) => (state === 'HERE' ? [] : installation));
  if (!INSTALLATION && others.length > 0)
    throw new StartError('Companies of this database are in other installations: set INSTALLATION.');
  if (!INSTALLATION) return null;
  if (!(INSTALLATION in INSTALLATIONS))
    throw new StartError(`INSTALLATION: must be one of INSTALLATIONS, not "${INSTALLATION}"`);
  if (others.includes(INSTALLATION))
    throw new StartError(`This database is not that of installation ${INSTALLATION}: its companies went there.`);
  const fence = new Fence(services);
  await fence.open();
  return fence;
}

/** Which companies are not here, or about to leave: a process begins nothing of them, and says when what had begun is over. */
class Fence {
  readonly #services: Opened;
  readonly #places = new Map<string, Known>();
  /** What is under way, by company; under '' what may be of any. */
  readonly #begun = new Map<string, Set<Promise<unknown>>>();
  readonly #leaving = new Map<string, AbortController>();
  readonly #wake = new WakeSignal();
  readonly #end = new AbortController();
  #since = '-infinity';
  /** By performance.now(): the database's own time for it ends later. */
  #signedUntil = Number.NEGATIVE_INFINITY;
  #stop = (): void => {};
  #looking: Promise<void> = Promise.resolve();

  constructor(services: Opened) {
    this.#services = services;
  }

  async open(): Promise<void> {
    this.#stop = await this.#services.database.listen(placementChannel, () => this.#wake.ring());
    await this.#look();
    this.#looking = this.#keepLooking();
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#stop();
    await this.#looking;
    const { database, changes } = this.#services;
    await leave(database.send, { id: changes.process }).catch(() => {});
  }

  /** Whether a company arrives or is about to leave: what concerns all companies waits. */
  get isMoving(): boolean {
    return this.#places.values().some(({ state }) => copied.includes(state));
  }

  /** Why nothing of this kind may begin; '' is any company. */
  refusal(company: string, kind: Begun = 'request'): DomainError | null {
    if (performance.now() > this.#signedUntil) return new Unavailable(BLIND, RETRY_SECONDS);
    const place = this.#places.get(company);
    if (!place || allowed[place.state]?.includes(kind)) return null;
    if (!elsewhere.includes(place.state)) return new Unavailable(MOVES, RETRY_SECONDS);
    return new CompanyElsewhere(place.installation, this.#services.config.INSTALLATIONS?.[place.installation] ?? '');
  }

  /** Throws CompanyElsewhere and Unavailable. */
  check(company: string, kind?: Begun): void {
    const refusal = this.refusal(company, kind);
    if (refusal) throw refusal;
  }

  /** Does what may begin; the company does not leave before it has ended. Throws CompanyElsewhere and Unavailable. */
  async run<T>(company: string, work: () => Promise<T>, kind?: Begun): Promise<T> {
    this.check(company, kind);
    const running = work();
    this.hold(company, running);
    return running;
  }

  /** The company does not leave before this has ended. */
  hold(company: string, running: Promise<unknown>): void {
    const begun = this.#begun.get(company) ?? new Set();
    this.#begun.set(company, begun);
    const ended = Promise.allSettled([running]);
    begun.add(ended);
    void ended.then(() => {
      begun.delete(ended);
      if (begun.size === 0 && this.#begun.get(company) === begun) this.#begun.delete(company);
    });
  }

  /** Aborts when requests of the company are refused: what follows it ends. */
  leaving(company: string): AbortSignal {
    const leaving = this.#leaving.get(company) ?? new AbortController();
    if (this.refusal(company)) leaving.abort();
    else this.#leaving.set(company, leaving);
    return leaving.signal;
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#end;
    for (let ms = SIGN_MS; !signal.aborted; ) {
      await this.#wake.wait({ ms, signal });
      if (signal.aborted) return;
      // While looks fail, the sign of life runs out.
      ms = await this.#look().then(
        () => SIGN_MS,
        () => LOOK_AGAIN_MS,
      );
    }
  }

  async #look(): Promise<void> {
    const { config, database, changes } = this.#services;
    const from = performance.now();
    for (const { at, ...place } of await findChanged(database.send, { since: this.#since })) {
      this.#since = new Date(Date.parse(at) - OVERLAP_MS).toISOString();
      this.#place(place);
    }
    const fences = [...this.#places.values()].flatMap(({ fence, isOver }) => (fence && isOver ? [fence] : []));
    await sign(database.send, { id: changes.process, fences, accounts: accountsOf(config) });
    this.#signedUntil = from + ALIVE_SECONDS * 1000;
  }

  #place(place: Placement): void {
    const { company, state, fence } = place;
    const before = this.#places.get(company);
    if (before?.fence === fence && before.state === state) return;
    const known = { ...place, isOver: false };
    if (state === 'HERE') this.#places.delete(company);
    else this.#places.set(company, known);
    if (!allowed[state]?.includes('request')) {
      this.#leaving.get(company)?.abort();
      this.#leaving.delete(company);
    }
    if (before && allowed[state]?.includes('work')) this.#services.changes.emit('missed');
    if (fence === null) return;
    void Promise.all([company, ''].flatMap((one) => [...(this.#begun.get(one) ?? [])])).then(() => {
      known.isOver = true;
      this.#wake.ring();
    });
  }
}

/** Programs at a manufacturer belong to an account: a company that has some moves only to an installation with the same. */
const accountsOf = ({ HIGH_MOBILITY_CLIENT_ID, MERCEDES_CLIENT_ID }: Opened['config']): string[] => [
  ...(HIGH_MOBILITY_CLIENT_ID ? [`high-mobility ${HIGH_MOBILITY_CLIENT_ID}`] : []),
  ...(MERCEDES_CLIENT_ID ? [`connect-your-fleet ${MERCEDES_CLIENT_ID}`] : []),
];
