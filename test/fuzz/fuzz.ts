import fc from 'fast-check';
import { createFleet } from '../support/factories.ts';
import type { Gateway } from '../support/gateway.ts';
import { newWorld, type World } from '../support/worlds.ts';
import { graphqlRequests } from './graphql.ts';
import { judge, type Secrets } from './judge.ts';
import { rawFaults, rawRequest } from './raw.ts';
import type { FuzzRequest } from './request.ts';
import { restRequests } from './rest.ts';
import { agent, send, type Worlds } from './send.ts';
import { uploadRequests } from './uploads.ts';

export interface Fuzzed {
  /** The number of requests, and the number by status. */
  tried: number;
  statuses: Record<number, number>;
  /** Distinct failures, each with its smallest request. */
  failures: string[];
}

/** A company that no request names; an answer with its name is a leak. */
const HIDDEN = 'hidden-quetzal';
/** Requests per operation and company; more would only make a company large and slow. */
const PER_ROUND = 8;
/** Files get more requests: most faults are in files. */
const UPLOAD_SHARE = 6;
/** Raw requests wait some 150 ms each, so they are fewer, and parallel. */
const RAW_PER_ROUND = 16;
const RAW_WIDTH = 8;

const operations = Object.entries({ ...restRequests, ...graphqlRequests, ...uploadRequests })
  // Deleting operations come last.
  .toSorted(([a], [b]) => Number(/delete/i.test(a)) - Number(/delete/i.test(b)));
const perRound =
  Object.keys(uploadRequests).length * (UPLOAD_SHARE - 1) * PER_ROUND + operations.length * PER_ROUND + RAW_PER_ROUND;

/** Sends about `cases` random requests, determined by the seed; checks every answer, and the state afterwards. */
export async function fuzz(gateway: Gateway, { cases, seed }: { cases: number; seed: number }): Promise<Fuzzed> {
  const alien = await newWorld(gateway, HIDDEN);
  await alien.client.patch(`/fleets/${alien.fleetId}`, { name: `The fleet of ${HIDDEN}` });
  const before = await stateOf(alien);
  const secrets: Secrets = { hidden: HIDDEN, inner: await innerWords(gateway) };
  const found: Fuzzed = { tried: 0, statuses: {}, failures: [] };
  const failed = new Set<string>();
  const rounds = Math.max(1, Math.ceil(cases / perRound));
  for (let round = 0; round < rounds && failed.size < 20; round++) {
    // The seed with which this round would be the first.
    const base = seed + round * operations.length;
    const own = await newWorld(gateway, `fuzz-${round}`);
    for (const [index, [name, requests]] of operations.entries()) {
      const numRuns = (name in uploadRequests ? UPLOAD_SHARE : 1) * PER_ROUND;
      if (failed.has(name)) continue;
      const failure = await tryOperation(
        gateway,
        { own, alien },
        secrets,
        requests,
        { numRuns, seed: base + index },
        found,
      );
      if (!failure) continue;
      failed.add(name);
      found.failures.push(`${name} (--cases ${perRound} --seed ${base}): ${failure}`);
    }
    found.failures.push(...(await tryRaw(gateway, secrets, { numRuns: RAW_PER_ROUND, seed: base })));
    found.tried += RAW_PER_ROUND;
    await createFleet(own.client);
    const after = await stateOf(alien);
    if (after !== before)
      found.failures.push(`Another company's data changed (--cases ${perRound} --seed ${base}): ${after}`);
  }
  agent.destroy();
  return found;
}

type Runs = { numRuns: number; seed: number };

async function tryOperation(
  { url }: Gateway,
  worlds: Worlds,
  secrets: Secrets,
  requests: fc.Arbitrary<FuzzRequest>,
  runs: Runs,
  found: Fuzzed,
): Promise<string | null> {
  const property = fc.asyncProperty(requests, async (asked) => {
    const answer = await send(url, worlds, asked);
    found.tried += 1;
    found.statuses[answer.status] = (found.statuses[answer.status] ?? 0) + 1;
    const faults = judge(asked, answer, secrets);
    if (faults.length > 0) throw new Error(`${faults.join('; ')}\n  ${answer.status} ${answer.text.slice(0, 500)}`);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, runs);
  if (!failed) return null;
  return `${(errorInstance as Error | undefined)?.message}\n  ${JSON.stringify(counterexample?.[0])?.slice(0, 3_000)}`;
}

async function tryRaw({ url }: Gateway, secrets: Secrets, { numRuns, seed }: Runs): Promise<string[]> {
  const texts = fc.sample(rawRequest, { numRuns, seed });
  const failures: string[] = [];
  for (let at = 0; at < texts.length; at += RAW_WIDTH) {
    const faults = texts.slice(at, at + RAW_WIDTH).map(async (text) => {
      for (const fault of await rawFaults(url, text, secrets))
        failures.push(`${fault}: ${JSON.stringify(text).slice(0, 1_000)}`);
    });
    await Promise.all(faults);
  }
  return failures;
}

/** All data that a company can read. */
async function stateOf({ client, company, fleetId, webhookId, importId }: World): Promise<string> {
  const seen = await Promise.all(
    [
      '/fleets',
      `/fleets/${fleetId}/vehicles`,
      `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`,
      '/events',
      '/webhooks',
      `/webhooks/${webhookId}/deliveries`,
      `/imports/${importId}`,
    ].map(async (path) => (await client.get(path)).body),
  );
  return JSON.stringify(seen);
}

/** Names of database objects, and folders of this installation. */
async function innerWords(gateway: Gateway): Promise<string[]> {
  const names = await gateway.execute<{ name: string }>(
    `select conname as name from pg_constraint where connamespace = current_schema::regnamespace
     union select indexname from pg_indexes where schemaname = current_schema`,
  );
  return [...names.map(({ name }) => name), gateway.env.DATA_DIR, process.cwd()];
}
