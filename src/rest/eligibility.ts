import { pick, type Selection } from '../core/sql/selection.ts';
import { getAnswer, requestVerification } from '../core/vehicles/eligibility.ts';
import type { Eligibility } from '../core/vehicles/vehicles.ts';
import { eligibilityDocs } from './openapi/eligibility.ts';
import type { Route } from './route.ts';

const fields: Selection<Eligibility> = {
  vin: true,
  status: true,
  eligible: true,
  manufacturer: true,
  dataDelivery: true,
  connectivityStatus: true,
  primaryUserAssigned: true,
  reason: true,
  attempts: true,
  verifiedAt: true,
  nextAttemptAt: true,
};
const shape = (eligibility: Eligibility) => pick(eligibility, fields);

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
    scope: 'fleets:read',
    docs: eligibilityDocs.get,
    async answer(ctx, { params, header, closed }) {
      const wait = preferredWait(header('Prefer'));
      const eligibility = await getAnswer(ctx, { vin: params.vin ?? '', ...(wait && { wait, signal: closed() }) });
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
    scope: 'fleets:write',
    docs: eligibilityDocs.refresh,
    async answer(ctx, { params }) {
      const [eligibility] = await requestVerification(ctx, { vins: [params.vin] });
      return { status: 202, body: eligibility && shape(eligibility) };
    },
  },
];
