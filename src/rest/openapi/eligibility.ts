import { eligibility } from '../../core/vehicles/vehicle.ts';
import type { RouteDocs } from './route-docs.ts';

export const eligibilityDocs = {
  get: {
    operationId: 'getEligibility',
    tag: 'Eligibility',
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
        schema: eligibility,
        headers: ['Preference-Applied'],
      },
    },
    errors: ['MANUFACTURER_NOT_SUPPORTED', 'VEHICLE_NOT_FOUND', 'ELIGIBILITY_IN_PROGRESS'],
  },
  refresh: {
    operationId: 'refreshEligibility',
    tag: 'Eligibility',
    summary: 'Ask the manufacturer again',
    description: 'Asks the manufacturer again, in the background. What is known stays until the new answer is there.',
    answers: { 202: { description: 'What is known so far.', schema: eligibility } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
