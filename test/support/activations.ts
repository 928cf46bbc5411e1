import { afterAll, expect } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import { openPlaces } from '../../src/fairness/slots.ts';
import { activateContracts } from '../../src/jobs/activate-contracts.ts';
import { type ClaimingTools, Claims } from '../../src/jobs/claims.ts';
import { publish } from '../../src/jobs/publish-events.ts';
import { HighMobility } from '../../src/manufacturers/high-mobility.ts';
import { Mercedes } from '../../src/manufacturers/mercedes.ts';
import { manufacturersOf } from '../../src/manufacturers/registry.ts';
import type { UpstreamOptions } from '../../src/manufacturers/upstream.ts';
import type { Client, Json } from './client.ts';
import { contractFields } from './factories.ts';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { UpstreamServer } from './upstream.ts';

const credentials = { clientId: 'client', clientSecret: 'secret' };

interface Options extends UpstreamOptions {
  /** The services of each pack at Mercedes-Benz; without them there is High Mobility alone. */
  packs?: Record<string, string[]>;
  on?: GatewayOptions['on'];
  /** Further settings. */
  settings?: NodeJS.ProcessEnv;
  /** Hears of steps that fail; by default the test does. */
  onError?: (error: unknown) => void;
}

/** What jobs need that a test runs itself. */
export const toolsOf = (
  { services }: Gateway,
  onError = (error: unknown): void => expect.fail(String(error)),
): ClaimingTools => {
  const open = () => contextOf(services, 'job', null);
  return { open, onError, withBackoff: (step) => step(), claims: new Claims(open) };
};

/** Does what is due of contracts and their events, once for each call. */
export function activationWork(gateway: Gateway, onError?: (error: unknown) => void): () => Promise<void> {
  const tools = toolsOf(gateway, onError);
  const jobs = [publish(tools), activateContracts(tools)];
  const going = new AbortController().signal;
  return async () => {
    for (const job of jobs) await job.run(going);
  };
}

/**
 * A gateway that carries out contracts at High Mobility and Mercedes-Benz, at one server of their documents. Its clock and its
 * jobs go when the test says so.
 */
export async function startActivations({ packs, on, settings, onError, ...options }: Options = {}) {
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const upstream = await UpstreamServer.start();
  afterAll(() => upstream.close());
  upstream.clock = clock;
  const own = { ...credentials, clock, ...options };
  const providers = [
    new HighMobility({ openPlaces, url: upstream.url, brands: [], ...own }),
    ...(packs ? [new Mercedes({ openPlaces, url: upstream.url, tokenUrl: upstream.tokenUrl, packs, ...own })] : []),
  ];
  const faults: object[] = [];
  const gateway = await startGateway({
    manufacturers: manufacturersOf(providers, { clock, tell: (fault) => faults.push(fault) }),
    settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required', ...settings },
    ...(on && { on }),
  });
  const work = activationWork(gateway, onError);
  const time = (ms: number) => new Date(clock() + ms).toISOString();

  function passTime(ms: number): void {
    aheadMs += ms;
    gateway.passTime(ms);
  }

  return {
    gateway,
    upstream,
    /** What operators are told of faults of providers. */
    faults,
    clock,
    time,
    passTime,
    /** Does what is due now. */
    work,
    /** Lets time pass in steps, and does after each what is due. */
    async workFor(ms: number, step: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += step) {
        passTime(step);
        await work();
      }
    },
    /** Creates a contract of this vehicle from now on. */
    async contract(client: Client, vehicle: Json, fields: { pack?: string; from?: string; to?: string } = {}) {
      const whole = contractFields(vehicle, { from: time(-1000), to: time(30 * DAY), ...fields });
      const { status, body } = await client.post('/contracts', whole);
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    },
  };
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** State and reason of a contract at the manufacturer. */
export async function stateOf(client: Client, { id }: Json): Promise<[state: string, code?: string, actor?: string]> {
  const { state, reason } = (await client.get(`/contracts/${id}`)).body.activation;
  return reason ? [state, reason.code, reason.actor] : [state];
}

/** A period that has begun, and goes on for a year. */
export const inForce = {
  from: new Date(Date.now() - HOUR).toISOString(),
  to: new Date(Date.now() + 365 * DAY).toISOString(),
};

/** As startActivations; the manufacturer decides in ten minutes, against VINs that end with 7, and ends programs in a minute. */
export async function startDecisions(options: Options = {}) {
  const started = await startActivations(options);
  const { upstream, work } = started;
  upstream.decide = (vin) => ({ status: vin.endsWith('7') ? 'rejected' : 'approved', afterMs: 10 * MINUTE });
  upstream.endsAfterMs = MINUTE;
  return {
    ...started,
    /** What is due, and what becomes of its events. */
    async work() {
      await work();
      await work();
    },
  };
}
