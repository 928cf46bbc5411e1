import { SharedPlaces } from './shares.ts';
import { RequestTurns } from './turns.ts';

/** Connections of the pool for requests; the reserve is for companies without any. Files and jobs have the others. */
const PLACES = { capacity: 8, reserve: 2 };

/** What companies share, and in which order. */
export const openFairness = () => ({
  /** The order in which requests begin. */
  turns: new RequestTurns(),
  /** The order in which followers take their news: many are woken together, and a company alone delays those without one. */
  news: new RequestTurns({ aloneMs: Infinity }),
  /** The connections of the pool. */
  places: new SharedPlaces(PLACES),
  /** Statements on the shared connections of additions. */
  additions: new SharedPlaces(),
  /**
   * The large work of a company that runs at the same time while other companies send requests. A change or an answer that holds its
   * turn may take one of `search` or `page`, never another of `change` or `answer`.
   */
  large: {
    change: new SharedPlaces({ most: 1 }),
    answer: new SharedPlaces({ most: 1 }),
    search: new SharedPlaces({ most: 2 }),
    // PostgreSQL works on one page at a time, and has the next one when it ends.
    page: new SharedPlaces({ most: 2 }),
  },
});

export type Fairness = ReturnType<typeof openFairness>;
