import { afterAll, expect } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import { activateContracts } from '../../src/jobs/activate-contracts.ts';
import type { Tools } from '../../src/jobs/job.ts';
import { publish } from '../../src/jobs/publish-events.ts';
import { HighMobility } from '../../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../../src/manufacturers/registry.ts';
import { type ClearanceFaults, startClearances } from './clearance.ts';
import { type Gateway, startGateway } from './gateway.ts';

const MINUTE = 60_000;
export const time = (minutes: number) => new Date(Date.now() + minutes * MINUTE).toISOString();
/** A period that has begun, and goes on for a year. */
export const inForce = { from: time(-60), to: time(365 * 24 * 60) };

/** Runs the jobs of contracts and of events once. */
export function activationWork(gateway: Gateway): () => Promise<void> {
  const tools: Tools = {
    open: () => contextOf(gateway.services, 'job', null),
    onError: (error) => expect.fail(String(error)),
    withBackoff: (step) => step(),
  };
  const jobs = [publish(tools), activateContracts(tools), publish(tools)];
  const going = new AbortController().signal;
  return async () => {
    for (const job of jobs) await job.run(going);
  };
}

/**
 * A gateway without workers that carries out contracts at a clearance server, whose VINs that end with 7 are rejected, each
 * decision after ten minutes of the gateway's clock. `work` runs its jobs once; `passTime` moves both clocks.
 */
export async function startActivations({ fault = () => null }: Partial<Pick<ClearanceFaults, 'fault'>> = {}) {
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const clearances = await startClearances({
    clock,
    decide: (vin) => ({ status: vin.endsWith('7') ? 'rejected' : 'approved', afterMs: 10 * MINUTE }),
    fault,
  });
  afterAll(() => clearances.close());
  const { url } = clearances;
  const provider = new HighMobility({ url, clientId: 'client', clientSecret: 'secret', brands: [], clock });
  const gateway = await startGateway({
    manufacturers: manufacturersOf([provider]),
    settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' },
  });
  const passTime = (minutes: number) => {
    aheadMs += minutes * MINUTE;
    gateway.passTime(minutes * MINUTE);
  };
  return { gateway, clearances, work: activationWork(gateway), passTime };
}
