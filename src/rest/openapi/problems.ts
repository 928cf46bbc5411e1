import { z } from 'zod';
import { rejectedContractSchema } from '../../core/contracts/create-contracts.ts';
import * as errors from '../../core/errors.ts';
import { field } from '../../core/fields.ts';
import { duplicateRowSchema, rejectedRowSchema } from '../../core/imports/imports.ts';
import { eligibilitySchema } from '../../core/vehicles/vehicle.ts';
import { addSummarySchema, rejectedVinSchema } from '../../core/vehicles/vin-lists.ts';
import { headersOf } from '../../http/body.ts';
import { problemOf } from '../router.ts';
import { type HeaderName, headers, type Json, mapValues } from './json-schema.ts';

const REQUEST_ID = '7b0c1c58-6f0e-4e06-9f7c-1d1f5d9f6f3e';
const CONTRACT_ID = '019aa1b2-7d4e-7f50-9b7c-1d2e3f4a5b6c';

const samples: Readonly<Record<Exclude<errors.ErrorCode, 'INTERNAL'>, errors.DomainError>> = {
  VALIDATION_FAILED: new errors.ValidationFailed([
    { path: 'email', code: 'INVALID_FORMAT', message: 'is not an e-mail address: "nobody"' },
  ]),
  MALFORMED_JSON: new errors.MalformedJson('The body is not JSON: Unexpected end of JSON input.'),
  FLEET_ID_MISSING: new errors.FleetIdMissing(),
  NOTHING_TO_DELETE: new errors.NothingToDelete(),
  NOTHING_TO_MOVE: new errors.NothingToMove(),
  MANUFACTURER_NOT_SUPPORTED: new errors.ManufacturerNotSupported('ferrari'),
  COLUMN_NOT_FOUND: new errors.ColumnNotFound('The file has no column "Kennung". Found: "Plate", "Chassis".', {
    found: ['Plate', 'Chassis'],
    preview: [{ row: 1, cells: ['Plate', 'Chassis'] }],
  }),
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
  CONTRACT_NOT_BEGUN: new errors.ContractNotBegun(),
  PRECONDITION_FAILED: new errors.PreconditionFailed(),
  PAYLOAD_TOO_LARGE: new errors.PayloadTooLarge('The body is larger than 1048576 bytes.'),
  UNSUPPORTED_MEDIA_TYPE: new errors.UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.'),
  COMPANY_ELSEWHERE: new errors.CompanyElsewhere('b', 'https://b.example.com'),
  IDEMPOTENCY_KEY_REUSED: new errors.IdempotencyKeyReused(),
  IDEMPOTENCY_ANSWER_GONE: new errors.IdempotencyAnswerGone(),
  IDEMPOTENCY_IN_PROGRESS: new errors.IdempotencyInProgress(),
  RATE_LIMITED: new errors.RateLimited(12),
  COST_EXCEEDED: new errors.CostExceeded(
    'An operation has at most 60,000 objects in its answer; this one may have 1,002,001.',
  ),
  UNAVAILABLE: new errors.Unavailable('The database is out of reach.'),
};

export const problemExamples: Readonly<Record<string, { summary: string; value: Json }>> = {
  ...mapValues(samples, (error) => {
    const { title, ...problem } = problemOf(error, REQUEST_ID);
    return { summary: title, value: { title, ...problem } };
  }),
  INTERNAL: { summary: 'An error of the service', value: problemOf(null, REQUEST_ID) },
};

/** The headers of this error that the document describes. */
export const errorHeaders = (code: errors.ErrorCode): HeaderName[] =>
  code === 'INTERNAL' ? [] : (Object.keys(headersOf(samples[code])) as HeaderName[]).filter((name) => name in headers);

const codes = Object.keys(errors.statusOf) as [errors.ErrorCode, ...errors.ErrorCode[]];

const inputErrorJson = z.object({
  path: field(z.string(), 'The path of the wrong value, with dots: `email`, `vins.3`.', 'email'),
  code: field(z.string(), 'The code of the error, for programs. Codes never change their meaning.', 'INVALID_FORMAT'),
  message: field(
    z.string(),
    'The error in English. It continues the path: `email` … `is not an e-mail address`.',
    'is not an e-mail address: "nobody"',
  ),
});

const eligibilityJson = eligibilitySchema.pick({ status: true, attempts: true, nextAttemptAt: true, reason: true });

const texts = z.array(z.string());

const also = (schema: z.ZodType, description: string) => schema.optional().meta({ description });

export const problemJson = z
  .object({
    type: field(z.string(), 'The type of the problem: always `about:blank`; see `code`.', 'about:blank'),
    title: field(z.string(), 'The code of the error in words.', 'Validation failed'),
    status: field(z.int(), 'The HTTP status of the answer.', 400),
    detail: field(
      z.string(),
      'The fault of the request as a sentence, in English.',
      'email: is not an e-mail address: "nobody"',
    ),
    code: field(
      z.enum(codes).meta({ id: 'ErrorCode', description: 'The codes of errors. Codes never change their meaning.' }),
      'The code of the error, for programs. Codes never change their meaning.',
      'VALIDATION_FAILED',
    ),
    requestId: field(z.string(), 'The id of the request, as in `X-Request-Id`. Quote it to the operator.', REQUEST_ID),
    errors: also(
      z.array(inputErrorJson).max(errors.MOST_INPUT_ERRORS),
      `The wrong values of the request, each with its path: the first ${errors.MOST_INPUT_ERRORS}.`,
    ),
    errorsOmitted: also(z.int().min(1), 'The number of further errors, which are not in `errors`.'),
    conflicts: also(texts, 'The ids of the overlapping contracts, with CONTRACT_OVERLAP.'),
    eligibility: also(eligibilityJson, 'The present eligibility of the vehicle, with ELIGIBILITY_IN_PROGRESS.'),
    summary: addSummarySchema.optional(),
    rejected: also(
      z.array(z.union([rejectedVinSchema, rejectedRowSchema])),
      'The rejected VINs of a list, or the first 100 rejected rows of a file.',
    ),
    duplicates: also(z.array(duplicateRowSchema), 'The first 100 rows that repeat an earlier VIN.'),
    row: also(z.int(), 'The number of the row that makes the uploaded file unreadable.'),
    found: also(texts, 'The names of the first columns of a file without a column of VINs.'),
    preview: also(
      z.array(
        z.object({
          row: field(z.int(), 'The number of the row, from 1.', 1),
          cells: field(z.array(z.string()), 'The first 20 cells of the row, each of at most 100 characters.', [
            'Plate',
          ]),
        }),
      ),
      'The first five rows of a file whose column of VINs is not known.',
    ),
    sheet: also(z.string().nullable(), 'The sheet of the uploaded workbook that the problem is about.'),
    column: also(z.string().nullable(), 'The header of the file’s column of VINs.'),
    sheets: also(texts, 'The sheets of a workbook without a column of VINs, as far as they were looked at.'),
    accepted: also(texts, 'Names that a column of VINs may have.'),
    rejectedContracts: also(z.array(rejectedContractSchema), 'The vehicles for which no contract was created.'),
    importId: also(z.uuid(), 'The id of the import whose rows were rejected.'),
    installation: also(z.string(), 'The name of the installation that has the company, with COMPANY_ELSEWHERE.'),
    address: also(z.string(), 'The public address of the installation that has the company.'),
    rejectedCsv: also(z.string(), 'The address of all rejected rows, as CSV.'),
  })
  .meta({ id: 'Problem', description: 'The reason for which a request was rejected, as RFC 9457 specifies.' });
