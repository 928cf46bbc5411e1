import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { fleetFields } from './factories.ts';

export interface Sent {
  what: string;
  /** 0 means no response. */
  status: number;
  code: string | undefined;
  retryAfter: string | null;
  /** Times of sending and of the response, in milliseconds of performance.now(). */
  began: number;
  ended: number;
}

const mutation = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }';
const asked: Record<string, [path: string, body?: unknown]> = {
  'GET /fleets': ['/fleets?limit=5'],
  'POST /fleets': ['/fleets', fleetFields],
  'GraphQL query': ['/graphql', { query: '{ fleets(first: 5) { nodes { id } } }' }],
  'GraphQL mutation': ['/graphql', { query: mutation, variables: { input: fleetFields } }],
};

/** Steady reads and writes by REST and GraphQL, beside health probes, with a record of every response. */
export class Load {
  readonly sent: Sent[] = [];
  readonly probes: Sent[] = [];
  /** Ids of fleets whose creation was acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #url: string;
  readonly #headers: () => Record<string, string>;
  readonly #loops: Promise<unknown>;
  #over = false;

  constructor(url: string, headers: () => Record<string, string>, clients = 8) {
    this.#url = url;
    this.#headers = headers;
    const visitors = Array.from({ length: clients }, (_, index) => this.#visit(index));
    this.#loops = Promise.all([...visitors, this.#probe('/livez'), this.#probe('/readyz')]);
  }

  /** Resolves when all requests are answered. */
  async stop(): Promise<void> {
    this.#over = true;
    await this.#loops;
  }

  /** Requests that were sent since `began`. */
  since(began: number): Sent[] {
    return this.sent.filter((one) => one.began >= began);
  }

  /** Acknowledged fleets that the database lacks. */
  async missing(databaseUrl: string): Promise<string[]> {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    const { rows } = await client.query('select id from fleet').finally(() => client.end());
    const stored = new Set(rows.map(({ id }) => id));
    return this.acknowledged.filter((id) => !stored.has(id));
  }

  async #visit(first: number): Promise<void> {
    const names = Object.keys(asked);
    for (let turn = first; !this.#over; turn++) {
      const what = names[turn % names.length] ?? '';
      const [path, body] = asked[what] ?? ['/'];
      this.sent.push(await this.#send(what, path, body));
      await delay(5);
    }
  }

  async #probe(path: string): Promise<void> {
    while (!this.#over) {
      this.probes.push(await this.#send(path, path));
      await delay(50);
    }
  }

  async #send(what: string, path: string, body?: unknown): Promise<Sent> {
    const began = performance.now();
    const answered = await fetch(this.#url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...this.#headers(), 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then(
      async (answer) => ({ answer, body: JSON.parse(await answer.text()) }),
      () => null,
    );
    const { id, code, errors, data } = answered?.body ?? {};
    const made = what === 'POST /fleets' ? id : data?.createFleet?.fleet?.id;
    if (made) this.acknowledged.push(made);
    return {
      what,
      status: answered?.answer.status ?? 0,
      code: code ?? errors?.[0]?.extensions?.code,
      retryAfter: answered?.answer.headers.get('retry-after') ?? null,
      began,
      ended: performance.now(),
    };
  }
}
