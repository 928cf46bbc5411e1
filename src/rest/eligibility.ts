import { getAnswer, verifyEligibility } from '../core/eligibility.ts';
import type { Eligibility } from '../core/vehicles.ts';
import type { Route } from './route.ts';

const shape = (eligibility: Eligibility) => ({
  vin: eligibility.vin,
  status: eligibility.status,
  eligible: eligibility.eligible,
  manufacturer: eligibility.manufacturer,
  dataDelivery: eligibility.dataDelivery,
  connectivityStatus: eligibility.connectivityStatus,
  primaryUserAssigned: eligibility.primaryUserAssigned,
  reason: eligibility.reason,
  attempts: eligibility.attempts,
  verifiedAt: eligibility.verifiedAt,
  nextAttemptAt: eligibility.nextAttemptAt,
});

const LONGEST_WAIT = 30;

/** Seconds of `Prefer: wait=N` (RFC 7240), at most 30; undefined when there is none that makes sense. */
function preferredWait(prefer: string | undefined): number | undefined {
  const [, seconds] = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i.exec(prefer ?? '') ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT);
}

export const eligibilityRoutes: Route[] = [
  {
    method: 'GET',
    path: '/vehicles/eligibility/:vin',
    async answer(ctx, { params, header, signal }) {
      const wait = preferredWait(header('Prefer'));
      const eligibility = await getAnswer(ctx, { vin: params.vin ?? '', wait, signal });
      return {
        status: 200,
        ...(wait !== undefined && { headers: { 'Preference-Applied': `wait=${wait}` } }),
        body: shape(eligibility),
      };
    },
  },
  {
    method: 'POST',
    path: '/vehicles/eligibility/:vin/refresh',
    async answer(ctx, { params }) {
      const [eligibility] = await verifyEligibility(ctx, { vins: [params.vin] });
      return { status: 202, body: eligibility && shape(eligibility) };
    },
  },
];
