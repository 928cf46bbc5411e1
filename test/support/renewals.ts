import { expect } from 'vitest';
import type { startWorld } from './activation-world.ts';
import { DAY, HOUR, MINUTE } from './activations.ts';
import type { Client, Json } from './client.ts';
import { createFleet } from './factories.ts';

type World = Awaited<ReturnType<typeof startWorld>>;

interface Options extends Pick<World, 'one' | 'wishes' | 'clock' | 'oneOf'> {
  /** Companies whose many contracts begin and end at the same time. */
  companies: readonly string[];
  count: number;
}

/** Contracts of many vehicles that follow each other, of the same company or of another one; by the next call, their end. */
export function renewals({ one, wishes, clock, oneOf, companies, count }: Options): () => Promise<void> {
  const vins = Array.from(
    { length: count },
    (_, n) => `${n % 4 === 0 ? 'W1K' : 'WBA'}213004${String(n).padStart(7, '0')}0`,
  );
  let renewed: { next: string; at: number; fleets: Map<string, string> } | null = null;

  const iso = (ms: number) => new Date(ms).toISOString();
  const sent = ({ status, body }: { status: number; body: Json }) => expect(status, JSON.stringify(body)).toBe(201);

  async function renew(): Promise<void> {
    const [company, next] = [oneOf(companies), oneOf(companies)];
    const fleets = new Map<string, string>();
    for (const of of new Set([company, next])) {
      const client = await one().as(of);
      const { id } = await createFleet(client);
      fleets.set(of, id);
      sent(await client.post('/vehicles', { fleetId: id, vins }));
    }
    const at = clock() + 2 * HOUR;
    const begins = at + oneOf([0, 1000, 50 * MINUTE, 70 * MINUTE]);
    const create = async (of: string, from: number, to: number) => {
      const terms = { fleetId: fleets.get(of), name: 'many', description: 'many', pack: 'b', vins };
      sent(await (await one().as(of)).post('/contracts/bulk', { ...terms, from: iso(from), to: iso(to) }));
    };
    await create(company, clock() - MINUTE, at);
    await create(next, begins, begins + DAY);
    renewed = { next, at, fleets };
  }

  return async () => {
    if (!renewed) return renew();
    if (clock() < renewed.at + 3 * HOUR) return;
    const { next, fleets } = renewed;
    const client = await one().as(next);
    const ids = [...wishes.terms.values()].flatMap(({ company, id }) => (company === next ? id : [])).slice(0, 1000);
    const ends: ((client: Client) => Promise<unknown>)[] = [
      (of) => of.post('/contracts/end', { ids }),
      (of) => of.delete('/contracts', { ids }),
      async () => {},
    ];
    if (ids.length > 0) await oneOf(ends)(client);
    for (const [of, fleet] of fleets) await (await one().as(of)).delete(`/fleets/${fleet}`);
    renewed = null;
  };
}
