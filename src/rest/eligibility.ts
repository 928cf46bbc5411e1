import { VehicleNotFound } from '../core/errors.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { getEligibilityText, requestVerification, waitForEligibility } from '../core/vehicles/eligibility.ts';
import { eligibilitySchema } from '../core/vehicles/vehicle.ts';
import { eligibilityResource } from '../core/vehicles/vehicles.ts';
import { vehicleCommands } from '../core/vehicles/vin-lists.ts';
import { operations } from './route.ts';

const asJson = jsonRowWriter(eligibilityResource.members, eligibilitySchema);

const LONGEST_WAIT = 30;

/** Seconds of `Prefer: wait=N` (RFC 7240); undefined without a valid one. */
function preferredWait(prefer: string | undefined): number | undefined {
  const [, seconds] = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i.exec(prefer ?? '') ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT);
}

const { get, post } = operations('Eligibility', { resource: eligibilitySchema, missing: 'VEHICLE_NOT_FOUND' });

export const eligibilityRoutes = [
  get('/vehicles/eligibility/:vin', 'getEligibility', {
    summary: 'Get the eligibility of a vehicle',
    description:
      'Returns the manufacturer’s answer about a vehicle of the company. Without an answer yet it is 409, with the likely ' +
      'time until then in `Retry-After`; `Prefer: wait=10` waits up to 10 seconds for it.',
    prefer: true,
    answers: {
      200: {
        description:
          'The answer: `ELIGIBLE`, `INELIGIBLE`, or `FAILED` if asking again will not help before somebody acts; the re-check is at `nextAttemptAt`.',
        schema: eligibilitySchema,
        headers: ['Preference-Applied'],
      },
    },
    errors: ['MANUFACTURER_NOT_SUPPORTED', 'ELIGIBILITY_IN_PROGRESS'],
    async answer(ctx, { route, params: { vin }, header, closed }) {
      const wait = preferredWait(header('Prefer'));
      const headers: Record<string, string> = wait === undefined ? {} : { 'Preference-Applied': `wait=${wait}` };
      if (!wait) return { headers, text: await getEligibilityText(ctx, asJson, { vin }) };
      return { headers, body: route.copy(await waitForEligibility(ctx, { vin, wait, signal: closed() })) };
    },
  }),
  post('/vehicles/eligibility/:vin/refresh', 'refreshEligibility', {
    summary: 'Ask the manufacturer again',
    description: vehicleCommands.verifyEligibility.description,
    answers: { 202: 'The present answer of the vehicle’s manufacturer.' },
    async result(ctx, { params: { vin } }) {
      const [eligibility] = (await requestVerification(ctx, { vins: [vin] })).eligibilities;
      if (!eligibility) throw new VehicleNotFound(`No fleet has a vehicle with the VIN ${vin}.`);
      return eligibility;
    },
  }),
];
