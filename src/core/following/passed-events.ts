import type { Context } from '../context.ts';
import { read } from '../database.ts';
import { Unavailable } from '../errors.ts';
import { numberParameters } from '../sql/sql.ts';

/** An event that a follower has passed. */
export interface PassedEvent {
  position: string;
  id: string;
}

/** More events than a standby lacks that takes over. */
const KEPT = 1_000;

const SET_BACK =
  'The log was set back by more events than are remembered. Read the present state and follow on from now.';

/**
 * The last events that a follower has passed. A standby that takes over may lack the last events of the log, whose positions are
 * then given to others: the follower goes back to the last event that is still there.
 */
export class PassedEvents {
  readonly #began: string;
  #events: PassedEvent[] = [];
  #forgotten = false;

  constructor(began: string) {
    this.#began = began;
  }

  get last(): PassedEvent | undefined {
    return this.#events.at(-1);
  }

  add(event: PassedEvent): void {
    if (event.id === this.last?.id) return;
    this.#events.push(event);
    if (this.#events.length < 2 * KEPT) return;
    this.#events = this.#events.slice(-KEPT);
    this.#forgotten = true;
  }

  /** Forgets what is gone; gives the position to go on from. Throws Unavailable where all is gone that is remembered. */
  async goBack(ctx: Context, company: string): Promise<string> {
    const [positions, ids] = [this.#events.map(({ position }) => position), this.#events.map(({ id }) => id)];
    const values = lastThatIs.values({ company, positions, ids, began: this.#began });
    const [row] = await read<[number: string | null, began: string]>(ctx, lastThatIs.text, values);
    const [number = null, began = this.#began] = row ?? [];
    this.#events = this.#events.slice(0, Number(number ?? 0));
    if (!this.last && this.#forgotten) throw new Unavailable(SET_BACK, 1);
    return this.last?.position ?? began;
  }
}

const lastThatIs = numberParameters(
  `select max(passed.number)::text,
     least($began::bigint, coalesce((select position from company where company = $company), 0))::text
   from unnest($positions::bigint[], $ids::uuid[]) with ordinality passed(position, id, number)
   join event e on e.company = $company and e.position = passed.position and e.id = passed.id`,
);
