import { afterAll, expect } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import { activateContracts } from '../../src/jobs/activate-contracts.ts';
import type { Tools } from '../../src/jobs/job.ts';
import { publish } from '../../src/jobs/publish-events.ts';
import { HighMobility } from '../../src/manufacturers/high-mobility.ts';
import { Mercedes } from '../../src/manufacturers/mercedes.ts';
import { manufacturersOf } from '../../src/manufacturers/registry.ts';
import type { UpstreamOptions } from '../../src/manufacturers/upstream.ts';
import type { Client, Json } from './client.ts';
import { contractFields } from './factories.ts';
import { type GatewayOptions, startGateway } from './gateway.ts';
import { UpstreamServer } from './upstream.ts';

const credentials = { clientId: 'client', clientSecret: 'secret' };

interface Options extends UpstreamOptions {
  /** The services of each pack at Mercedes-Benz; without them there is High Mobility alone. */
  packs?: Record<string, string[]>;
  on?: GatewayOptions['on'];
  /** Hears of steps that fail; by default the test does. */
  onError?: (error: unknown) => void;
}

/**
 * A gateway that carries out contracts at High Mobility and Mercedes-Benz, at one server of their documents. Its clock and its
 * jobs go when the test says so.
 */
export async function startActivations({ packs, on, onError, ...options }: Options = {}) {
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const upstream = await UpstreamServer.start();
  afterAll(() => upstream.close());
  upstream.clock = clock;
  const own = { ...credentials, clock, ...options };
  const providers = [
    new HighMobility({ url: upstream.url, brands: [], ...own }),
    ...(packs ? [new Mercedes({ url: upstream.url, tokenUrl: upstream.tokenUrl, packs, ...own })] : []),
  ];
  const gateway = await startGateway({
    manufacturers: manufacturersOf(providers),
    settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' },
    ...(on && { on }),
  });
  const tools: Tools = {
    open: () => contextOf(gateway.services, 'job', null),
    onError: onError ?? ((error) => expect.fail(String(error))),
    withBackoff: (step) => step(),
  };
  const jobs = [publish(tools), activateContracts(tools)];
  const going = new AbortController().signal;
  const time = (ms: number) => new Date(clock() + ms).toISOString();

  function passTime(ms: number): void {
    aheadMs += ms;
    gateway.passTime(ms);
  }

  async function work(): Promise<void> {
    for (const job of jobs) await job.run(going);
  }

  return {
    gateway,
    upstream,
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
