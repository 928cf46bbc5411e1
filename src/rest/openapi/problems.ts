import { z } from 'zod';
import * as errors from '../../core/errors.ts';
import { field } from '../../core/fields.ts';
import { duplicateRow, rejectedRow } from '../../core/imports/imports.ts';
import { reason } from '../../core/reason.ts';
import { eligibilityStatus } from '../../core/vehicles/vehicle.ts';
import { rejectedVin, summary } from '../../core/vehicles/vin-lists.ts';
import { statusOf } from '../../http/body.ts';
import { internalProblem, problemOf } from '../problem.ts';
import { type Json, mapValues } from './json-schema.ts';

const REQUEST_ID = '7b0c1c58-6f0e-4e06-9f7c-1d1f5d9f6f3e';
const CONTRACT_ID = '019aa1b2-7d4e-7f50-9b7c-1d2e3f4a5b6c';

/** Each error as a caller may meet it. */
const samples: Readonly<Record<Exclude<errors.ErrorCode, 'INTERNAL'>, errors.DomainError>> = {
  VALIDATION_FAILED: new errors.ValidationFailed([
    { path: 'email', code: 'INVALID_FORMAT', message: 'is not an e-mail address' },
  ]),
  MALFORMED_JSON: new errors.MalformedJson('The body is not JSON: Unexpected end of JSON input.'),
  FLEET_ID_MISSING: new errors.FleetIdMissing(),
  NOTHING_TO_DELETE: new errors.NothingToDelete(),
  NOTHING_TO_MOVE: new errors.NothingToMove(),
  MANUFACTURER_NOT_SUPPORTED: new errors.ManufacturerNotSupported('ferrari'),
  UNAUTHENTICATED: new errors.Unauthenticated('The token has expired.'),
  FORBIDDEN: new errors.Forbidden('The token lacks the scope fleets:write.', 'fleets:write'),
  FLEET_NOT_FOUND: new errors.FleetNotFound(),
  VEHICLE_NOT_FOUND: new errors.VehicleNotFound(),
  CONTRACT_NOT_FOUND: new errors.ContractNotFound(),
  IMPORT_NOT_FOUND: new errors.ImportNotFound(),
  WEBHOOK_NOT_FOUND: new errors.WebhookNotFound(),
  NOT_FOUND: new errors.NotFound('There is nothing at this address.'),
  METHOD_NOT_ALLOWED: new errors.MethodNotAllowed('PUT', ['GET', 'HEAD', 'POST']),
  ELIGIBILITY_IN_PROGRESS: new errors.EligibilityInProgress('WBA3A5C50CF256985', 2, {
    eligibility: { status: 'PENDING', attempts: 0, nextAttemptAt: '2026-11-20T08:00:02.000Z', reason: null },
  }),
  CONTRACT_OVERLAP: new errors.ContractOverlap([CONTRACT_ID]),
  PRECONDITION_FAILED: new errors.PreconditionFailed(),
  PAYLOAD_TOO_LARGE: new errors.PayloadTooLarge('The body is larger than 1048576 bytes.'),
  UNSUPPORTED_MEDIA_TYPE: new errors.UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.'),
  IDEMPOTENCY_KEY_REUSED: new errors.IdempotencyKeyReused(),
  IDEMPOTENCY_IN_PROGRESS: new errors.IdempotencyInProgress(),
  RATE_LIMITED: new errors.RateLimited(12),
  COST_EXCEEDED: new errors.CostExceeded(
    'An operation has at most 60,000 objects in its answer; this one may have 1,002,001.',
  ),
  UNAVAILABLE: new errors.Unavailable('The database is out of reach.'),
};

/** An example of every error, by its code. */
export const problemExamples: Readonly<Record<string, { summary: string; value: Json }>> = {
  ...mapValues(samples, (error) => {
    const { title, ...problem } = problemOf(error, REQUEST_ID);
    return { summary: String(title), value: { title, ...problem } };
  }),
  INTERNAL: { summary: 'An error of the service', value: internalProblem(REQUEST_ID) },
};

const codes = Object.keys(statusOf) as [errors.ErrorCode, ...errors.ErrorCode[]];

const inputErrorJson = z.object({
  path: field(z.string(), 'Where the value stands, dotted: `email`, `vins.3`.', 'email'),
  code: field(z.string(), 'Stable, for programs.', 'INVALID_FORMAT'),
  message: field(z.string(), 'For people.', 'is not an e-mail address'),
});

/** The body of every error (RFC 9457). */
export const problemJson = z
  .object({
    type: field(z.string(), 'Always `about:blank`: `code` tells errors apart.', 'about:blank'),
    title: field(z.string(), 'The code in words.', 'Validation failed'),
    status: field(z.int(), 'The HTTP status again.', 400),
    detail: field(z.string(), 'What is wrong with this request, for people.', 'email: is not an e-mail address'),
    code: field(
      z.enum(codes).meta({ id: 'ErrorCode' }),
      'What programs branch on. Codes never change.',
      'VALIDATION_FAILED',
    ),
    requestId: field(z.string(), 'As in `X-Request-Id`; name it when you ask for help.', REQUEST_ID),
    errors: z
      .array(inputErrorJson)
      .max(errors.MOST_INPUT_ERRORS)
      .optional()
      .meta({ description: `The errors of the request, each at its place: the first ${errors.MOST_INPUT_ERRORS}.` }),
    errorsOmitted: z.int().min(1).optional().meta({ description: 'How many errors there are beside those.' }),
    conflicts: z.array(z.string()).optional().meta({ description: 'CONTRACT_OVERLAP: the contracts in the way.' }),
    eligibility: z
      .object({
        status: eligibilityStatus,
        attempts: z.int(),
        nextAttemptAt: z.iso.datetime().nullable(),
        reason: reason.nullable(),
      })
      .optional()
      .meta({ description: 'ELIGIBILITY_IN_PROGRESS: how far it is.' }),
    summary: summary.optional(),
    rejected: z
      .array(z.union([rejectedVin, rejectedRow]))
      .optional()
      .meta({ description: 'The rejected VINs (of a list) or the first 100 rejected rows (of a file).' }),
    duplicates: z.array(duplicateRow).optional().meta({ description: 'The first 100 rows that repeat another.' }),
    row: z.int().optional().meta({ description: 'The row that makes a file unreadable.' }),
    found: z
      .array(z.string())
      .optional()
      .meta({ description: 'The first columns of a file without a column of VINs.' }),
    sheet: z.string().nullable().optional().meta({ description: 'The sheet of the workbook that this is about.' }),
    sheets: z
      .array(z.string())
      .optional()
      .meta({ description: 'The sheets of a workbook without a column of VINs, as far as they were looked at.' }),
    accepted: z.array(z.string()).optional().meta({ description: 'What such a column may be called.' }),
    importId: z.uuid().optional().meta({ description: 'The import whose rows were rejected.' }),
    rejectedCsv: z.string().optional().meta({ description: 'Where all rejected rows are, as CSV.' }),
  })
  .meta({ id: 'Problem', description: 'Why a request was rejected (RFC 9457).' });
