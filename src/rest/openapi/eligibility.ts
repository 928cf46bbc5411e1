import { z } from 'zod';
import { eligibilityStatuses } from '../../core/vehicles/vehicles.ts';
import { field } from './json-schema.ts';
import type { RouteDocs } from './route-docs.ts';
import { reasonJson } from './shapes.ts';

const eligibilityJson = z
  .object({
    vin: field(z.string(), 'The VIN, as it is stored.', 'WBA3A5C50CF256985'),
    status: field(z.enum(eligibilityStatuses), 'How far the verification is, and its outcome.', 'ELIGIBLE'),
    eligible: field(z.boolean().nullable(), 'The answer; null while there is none.', true),
    manufacturer: field(z.string().nullable(), 'Who answered; null when the VIN does not tell its maker.', 'bmw'),
    dataDelivery: field(z.array(z.enum(['PULL', 'PUSH'])), 'How data of this vehicle can be had.', ['PUSH']),
    connectivityStatus: field(
      z.enum(['ACTIVATED', 'DEACTIVATED', 'UNKNOWN']).nullable(),
      'Whether the vehicle is connected; null where the manufacturer does not say.',
      'ACTIVATED',
    ),
    primaryUserAssigned: field(
      z.boolean().nullable(),
      'Whether a main user is registered with the manufacturer; null where it does not say.',
      true,
    ),
    reason: field(reasonJson.nullable(), 'Why the answer is what it is.', null),
    attempts: field(z.int(), 'How often the manufacturer was asked for this answer.', 1),
    verifiedAt: field(z.iso.datetime().nullable(), 'When it answered.', '2026-11-20T08:00:02.000Z'),
    nextAttemptAt: field(
      z.iso.datetime().nullable(),
      'When it is asked next: the next attempt while `PENDING`, else the re-check, since answers age (`FAILED` too). Null while it is being asked.',
      '2026-12-20T08:00:02.000Z',
    ),
  })
  .meta({ id: 'Eligibility', description: 'What the manufacturer says of a vehicle.' });

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
        schema: eligibilityJson,
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
    answers: { 202: { description: 'What is known so far.', schema: eligibilityJson } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
