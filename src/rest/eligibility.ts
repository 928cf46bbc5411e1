import { jsonRowWriter } from '../core/sql/read.ts';
import { fieldCopier } from '../core/sql/selection.ts';
import { getEligibilityText, requestVerification, waitForEligibility } from '../core/vehicles/eligibility.ts';
import { eligibilitySchema } from '../core/vehicles/vehicle.ts';
import { eligibilityResource } from '../core/vehicles/vehicles.ts';
import { type Answer, operations } from './route.ts';

const asJson = jsonRowWriter(eligibilityResource.members, eligibilitySchema);
const shape = fieldCopier(eligibilitySchema);

const LONGEST_WAIT = 30;

/** Seconds of `Prefer: wait=N` (RFC 7240); undefined without a valid one. */
function preferredWait(prefer: string | undefined): number | undefined {
  const [, seconds] = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i.exec(prefer ?? '') ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT);
}

const { get, post } = operations('Eligibility');

export const eligibilityRoutes = [
  get('/vehicles/eligibility/:vin', 'getEligibility', {
    summary: 'Get the eligibility of a vehicle',
    description:
      'What the manufacturer says of a vehicle of your company. While there is no answer yet: 409, with `Retry-After` ' +
      'as far as is known: the next attempt, or the vehicles before it at the pace of the latest answers. ' +
      'Send `Prefer: wait=10` to wait for it.',
    prefer: true,
    answers: {
      200: {
        description:
          'The answer: `ELIGIBLE` or `INELIGIBLE`, or `FAILED` where asking again will not help: it is not tried again before its re-check at `nextAttemptAt`.',
        schema: eligibilitySchema,
        headers: ['Preference-Applied'],
      },
    },
    errors: ['MANUFACTURER_NOT_SUPPORTED', 'VEHICLE_NOT_FOUND', 'ELIGIBILITY_IN_PROGRESS'],
    async answer(ctx, { params, header, closed }) {
      const { vin } = params;
      const wait = preferredWait(header('Prefer'));
      const headers: Answer['headers'] = wait === undefined ? {} : { 'Preference-Applied': `wait=${wait}` };
      if (!wait) return { headers, text: await getEligibilityText(ctx, asJson, { vin }) };
      return { headers, body: shape(await waitForEligibility(ctx, { vin, wait, signal: closed() })) };
    },
  }),
  post('/vehicles/eligibility/:vin/refresh', 'refreshEligibility', {
    summary: 'Ask the manufacturer again',
    description: 'Asks the manufacturer again, in the background. What is known stays until the new answer is there.',
    answers: { 202: { description: 'What is known so far.', schema: eligibilitySchema } },
    errors: ['VEHICLE_NOT_FOUND'],
    async answer(ctx, { params }) {
      const [known] = await requestVerification(ctx, { vins: [params.vin] });
      return { body: known && shape(known) };
    },
  }),
];
