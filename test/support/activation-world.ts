import { createHmac } from 'node:crypto';
import { afterAll, expect } from 'vitest';
import { faultOf } from '../../src/database/sqlstate.ts';
import { openPlaces } from '../../src/fairness/slots.ts';
import { activateContracts } from '../../src/jobs/activate-contracts.ts';
import { publish } from '../../src/jobs/publish-events.ts';
import { deleteFleets } from '../../src/jobs/upkeep.ts';
import { clearanceBrands } from '../../src/manufacturers/brands.ts';
import { HighMobility } from '../../src/manufacturers/high-mobility.ts';
import { Mercedes } from '../../src/manufacturers/mercedes.ts';
import { manufacturersOf } from '../../src/manufacturers/registry.ts';
import { HOUR, MINUTE, toolsOf } from './activations.ts';
import { Client } from './client.ts';
import { startGateway } from './gateway.ts';
import { randomOf } from './random.ts';
import { decisionMs, unsureManufacturers } from './unsure-manufacturers.ts';
import { UpstreamServer } from './upstream.ts';
import { LONGEST_LAG, type Standing, type Term, Wishes } from './wishes.ts';

// Two processes that carry out contracts, the manufacturers, and settings that change between restarts.

const SECRET = 'a secret of High Mobility’s page';
const MERCEDES = 'connect-your-fleet';
const HIGH_MOBILITY = 'high-mobility';
const GAP = HOUR;

/** Two companies have the same vehicles. High Mobility rejects a VIN that ends with 7. */
export const cleared = Array.from({ length: 40 }, (_, n) => {
  const maker = n % 10 === 6 ? 'WVW' : n % 10 === 8 ? 'UU1' : 'WBA';
  return `${maker}${String(n).padStart(13, '0')}${n % 20 === 10 ? 7 : 0}`;
});
const numbered = (n: number) => `W1K2130041A00${String(n).padStart(4, '0')}`;
const BLACKLISTED = numbered(4);
const NO_VIN_THERE = 'W1K2130041A00005X';
export const served = [...Array.from({ length: 24 }, (_, n) => numbered(n)), NO_VIN_THERE];
/** Services of Mercedes-Benz: what becomes of each. Another consent than the account's is needed for 1000. */
const services = {
  1001: 'ACTIVE',
  1002: 'ACTIVE',
  2001: 'REJECTED',
  2002: 'UNAVAILABLE',
  3001: 'FAILED',
  1000: 'FAILED',
};
type ServiceId = keyof typeof services;
type Packs = Record<string, string[]>;
const usual: Packs = {
  a: ['1001', '1002'],
  b: ['1002'],
  c: ['1001', '2001'],
  d: ['2002', '3001'],
  e: ['1000', '1001'],
};
/** What the operator's settings may say. */
const settings: readonly Packs[] = [usual, { ...usual, a: ['1001'] }, { ...usual, b: ['1001', '1002'], f: ['1001'] }];

/** Where Mercedes-Benz's own service is away, nobody else is asked. */
const others = clearanceBrands.filter((brand) => brand !== 'mercedes-benz');
const isCleared = (vin: string) => !vin.startsWith('W1K');

/** The state to which a program comes that is wanted. */
export function outcomeOf(program: string): string {
  const [vin = '', id] = program.split(' ');
  if (isCleared(vin)) return vin.endsWith('7') ? 'REJECTED' : 'ACTIVE';
  if (vin === BLACKLISTED) return 'REJECTED';
  if (vin === NO_VIN_THERE) return 'FAILED';
  const outcome = services[Number(id) as ServiceId];
  return outcome === 'UNAVAILABLE' ? 'REJECTED' : outcome;
}

/** On a busy machine a connection may take longer than the service waits for one: such a request is sent again. */
class Enduring extends Client {
  readonly #wishes: Wishes;

  constructor({ url, headers }: Client, wishes: Wishes) {
    super(url, headers);
    this.#wishes = wishes;
  }

  override async send(...request: Parameters<Client['send']>): ReturnType<Client['send']> {
    const answer = await super.send(...request);
    if (answer.status !== 503) return answer;
    this.#wishes.fault();
    return this.send(...request);
  }
}

export async function startWorld(seed: number) {
  const random = randomOf(seed);
  let step = 0;
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  /** Random numbers that do not depend on the order in which requests come. */
  function chanceOf(...texts: string[]) {
    let hash = seed;
    for (const char of [`${step}`, ...texts].join(' ')) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
    return randomOf(hash);
  }

  const upstream = await UpstreamServer.start();
  afterAll(() => upstream.close());
  const lags = randomOf(seed);
  const lagOf = new Map<string, number>();
  Object.assign(upstream, {
    clock,
    tokenLifetime: 3600,
    lagsMs(vin: string) {
      if (!lagOf.has(vin)) lagOf.set(vin, Math.floor(lags() * (LONGEST_LAG / 1000 + 1)) * 1000);
      return lagOf.get(vin);
    },
    decide: (vin: string) => ({
      status: vin.endsWith('7') ? 'rejected' : 'approved',
      afterMs: decisionMs(vin, chanceOf(vin)),
    }),
    serves(vin: string, id: string) {
      const outcome = services[Number(id) as ServiceId];
      if (outcome === 'UNAVAILABLE') return { status: 'NOT_AVAILABLE', afterMs: 0 };
      const afterMs = decisionMs(vin, chanceOf(vin, id));
      return { status: outcome === 'ACTIVE' ? 'ACTIVE' : 'ACTIVATION_FAILED', afterMs };
    },
  });
  // Most ends take a minute, some hours.
  const ends = randomOf(seed);
  Object.defineProperty(upstream, 'endsAfterMs', { get: () => (ends() < 0.2 ? 3 * HOUR : MINUTE) });
  upstream.blacklist.add(BLACKLISTED);
  upstream.expired.add('3001');

  let packs = usual;
  const gone = new Set<string>();
  const isGone = (program: string) => gone.has(isCleared(program) ? HIGH_MOBILITY : MERCEDES);
  const programsOf = ({ vin, pack }: Term): string[] =>
    (isCleared(vin) ? [''] : (packs[pack] ?? [])).map((program) => `${vin} ${program}`);

  function standingOf(program: string): Standing {
    const [vin = '', id = ''] = program.split(' ');
    if (isCleared(vin)) {
      const one = upstream.clearanceOf(vin);
      const until = one?.next?.at ?? null;
      if (one?.status === 'approved') return { status: 'ACTIVE', until };
      if (one?.status === 'pending') return { status: 'PENDING', until };
      return { status: one?.status.endsWith('ing') ? 'ENDING' : 'OFF', until };
    }
    const one = upstream.serviceOf(vin, id);
    const until = one?.next?.at ?? null;
    if (one?.next?.status === 'INACTIVE') return { status: one.status === 'INACTIVE' ? 'OFF' : 'ENDING', until };
    if (one?.status === 'ACTIVATION_PENDING') return { status: 'PENDING', until };
    return { status: one?.status === 'ACTIVE' ? 'ACTIVE' : 'OFF', until };
  }

  const isServed = (program: string) => outcomeOf(program) === 'ACTIVE';
  const wishes = new Wishes({ programsOf, standingOf, isServed, isGone, gapMs: GAP, clock });
  const base = await startGateway();
  let processes: Awaited<ReturnType<typeof start>>[] = [];

  function passTime(ms: number): void {
    aheadMs += ms;
    for (const { gateway } of processes) gateway.passTime(ms);
  }

  /** Whether a job failed since it had no connection: it is done again. */
  function endures(error: unknown): boolean {
    const isEndured = faultOf(error)?.is === 'unreachable';
    if (isEndured) wishes.fault();
    return isEndured;
  }

  async function start() {
    const own = { clientId: 'client', clientSecret: 'secret', clock, breakAfter: 1_000_000 };
    // No answer within so many ms of the real clock is none.
    const waits = { timeoutMs: 2000, patienceMs: 0 };
    const providers = [
      new HighMobility({ openPlaces, url: upstream.url, brands: [], clearance: { brands: others }, ...own, ...waits }),
      new Mercedes({ openPlaces, url: upstream.url, tokenUrl: upstream.tokenUrl, packs, ...own, ...waits }),
    ].filter(({ id }) => !gone.has(id));
    const gateway = await startGateway({
      on: base,
      manufacturers: manufacturersOf(providers, { clock }),
      settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required', HIGH_MOBILITY_WEBHOOK_SECRET: SECRET },
    });
    gateway.passTime(aheadMs);
    const tools = toolsOf(gateway, (error) => endures(error) || expect.fail(String(error)));
    const jobs = [deleteFleets(tools), publish(tools), activateContracts(tools)];
    const going = new AbortController().signal;
    const clients = new Map<string, Client>();
    return {
      gateway,
      async as(company: string): Promise<Client> {
        const client = clients.get(company) ?? new Enduring(await gateway.as(company), wishes);
        clients.set(company, client);
        return client;
      },
      /** Does what is due; gives when more is. */
      async work(): Promise<number> {
        const next: number[] = [];
        try {
          for (const job of jobs) next.push(Date.parse((await job.run(going)) ?? '') || Number.POSITIVE_INFINITY);
        } catch (error) {
          if (!endures(error)) throw error;
          return clock();
        }
        return Math.min(...next);
      },
    };
  }

  async function restart(): Promise<void> {
    await Promise.all(processes.map(({ gateway }) => gateway.close()));
    processes = [await start(), await start()];
    wishes.fault();
  }
  await restart();

  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const manufacturers = unsureManufacturers({ upstream, wishes, clock, passTime, chanceOf });
  return {
    ...{ upstream, manufacturers, wishes, base, clock, random, oneOf, passTime, programsOf, isGone },
    below: (count: number) => Math.floor(random() * count),
    nextStep: () => step++,
    /** One of the processes. */
    one: () => oneOf(processes),
    /** Starts the processes anew, with other packs or providers. */
    async changeSettings(): Promise<void> {
      packs = oneOf(settings);
      gone.clear();
      if (random() < 0.3) gone.add(oneOf([HIGH_MOBILITY, MERCEDES]));
      for (const vin of new Set([...wishes.programs.values()].map((one) => one.vin)))
        wishes.touch(vin, `a start with packs ${JSON.stringify(packs)}, without ${[...gone].join() || 'none'}`);
      wishes.sort();
      await restart();
    },
    async deliverWebhook(vin: string, id: string): Promise<void> {
      const body = JSON.stringify({ event: { id }, vin });
      const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
      const headers = { 'x-hm-signature-256': signature };
      const { status } = await fetch(`${oneOf(processes).gateway.url}/providers/high-mobility/events`, {
        ...{ method: 'POST', body, headers },
      });
      expect([204, 429]).toContain(status);
    },
  };
}
