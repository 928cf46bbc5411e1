import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fleetFields } from './factories.ts';

const mutation = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }';

interface Options {
  url: string;
  headers: () => Record<string, string>;
  writes: number;
  writers?: number;
}

/** The outcome of writeAll. */
export interface Written {
  /** Ids in the answers, by name; each write creates a fleet of that name. */
  acknowledged: Map<string, string>;
  /** Attempts without an answer, or with 409 or 503. */
  retried: number;
  /** All other error responses, such as `500 INTERNAL`. */
  faults: string[];
}

/**
 * Creates `writes` fleets, by REST and GraphQL in turn, each with its own Idempotency-Key and name.
 * Repeats a request that got no answer, 409 or 503 until it is acknowledged.
 */
export async function writeAll({ url, headers, writes, writers = 16 }: Options): Promise<Written> {
  const written: Written = { acknowledged: new Map(), retried: 0, faults: [] };
  let next = 0;
  const write = async (index: number): Promise<void> => {
    const name = `write ${index} ${randomUUID()}`;
    const [path, body] =
      index % 2
        ? ['/fleets', { ...fleetFields, name }]
        : ['/graphql', { query: mutation, variables: { input: { ...fleetFields, name } } }];
    for (;;) {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { ...headers(), 'content-type': 'application/json', 'idempotency-key': name },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(15_000),
      })
        .then(async (got) => ({ status: got.status, body: JSON.parse(await got.text()) }))
        .catch(() => null);
      const id = answer?.body.id ?? answer?.body.data?.createFleet?.fleet.id;
      if (id) {
        written.acknowledged.set(name, id);
        return;
      }
      const code = answer?.body.code ?? answer?.body.errors?.[0].extensions.code;
      if (answer && code !== 'UNAVAILABLE' && code !== 'IDEMPOTENCY_IN_PROGRESS') {
        written.faults.push(`${answer.status} ${code}`);
        return;
      }
      written.retried += 1;
      await delay(100);
    }
  };
  const writer = async () => {
    while (next < writes) await write(next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return written;
}

/** Counts acknowledged writes that are missing, doubled or changed in the database; all 0 if nothing was lost. */
export function difference(written: Written, stored: readonly { id: string; name: string }[]) {
  const byName = Map.groupBy(stored, ({ name }) => name);
  const entries = [...written.acknowledged];
  return {
    /** Acknowledged fleets that are not stored. */
    missing: entries.filter(([name]) => !byName.has(name)).length,
    /** Fleets that were created more than once. */
    twice: entries.filter(([name]) => (byName.get(name)?.length ?? 0) > 1).length,
    /** Fleets that are stored under another id than the acknowledged one. */
    changed: entries.filter(([name, id]) => byName.has(name) && !byName.get(name)?.some((row) => row.id === id)).length,
  };
}
