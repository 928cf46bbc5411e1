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

/** What became of the writes. */
export interface Written {
  /** The id that was answered, by the write's name, which is its fleet's name. */
  acknowledged: Map<string, string>;
  /** Attempts that ended without an answer, or with 409 or 503. */
  retried: number;
  /** Answers that no client should see, as `500 INTERNAL`. */
  faults: string[];
}

/**
 * Creates fleets by both interfaces in turn, each with an Idempotency-Key and a name of its own, and repeats what has no answer or
 * is to be tried again, until every one is acknowledged.
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

/** What differs between what was acknowledged and what is stored: nothing, if all is well. */
export function difference(written: Written, stored: readonly { id: string; name: string }[]) {
  const byName = Map.groupBy(stored, ({ name }) => name);
  const entries = [...written.acknowledged];
  return {
    /** Acknowledged, and not there. */
    missing: entries.filter(([name]) => !byName.has(name)).length,
    /** Done more than once. */
    twice: entries.filter(([name]) => (byName.get(name)?.length ?? 0) > 1).length,
    /** There, under another id than the one that was answered. */
    changed: entries.filter(([name, id]) => byName.has(name) && !byName.get(name)?.some((row) => row.id === id)).length,
  };
}
