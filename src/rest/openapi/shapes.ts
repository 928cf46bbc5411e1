import { z } from 'zod';
import { field } from './json-schema.ts';

/** Parts of answers that several resources have. */

export const reasonJson = z
  .object({
    code: field(z.string(), 'Stable, for programs.', 'NOT_ELIGIBLE'),
    message: field(z.string(), 'For people.', 'The manufacturer does not admit this vehicle.'),
    actor: field(z.enum(['CUSTOMER', 'MANUFACTURER', 'OPERATOR']), 'Who can do something about it.', 'MANUFACTURER'),
    retryable: field(z.boolean(), 'Whether asking again may change it.', false),
  })
  .meta({ id: 'Reason', description: 'Why the manufacturer’s answer is what it is.' });

export const summaryJson = z
  .object({
    received: field(z.int(), 'Values that were sent.', 3),
    created: field(z.int(), 'Vehicles that are new in the fleet.', 1),
    existing: field(z.int(), 'Values whose vehicle the fleet had already.', 1),
    rejected: field(z.int(), 'Values that were refused.', 1),
  })
  .meta({ id: 'Summary', description: 'What became of the values; the three add up to `received`.' });

const refused = {
  value: field(z.string(), 'The value as it was sent.', 'WBA3A5C50CF25698O'),
  code: field(
    z.string(),
    'Why: `VIN_INVALID_LENGTH`, `VIN_INVALID_CHARACTER`, `VIN_SPREADSHEET_DAMAGE` or `VIN_IN_ANOTHER_FLEET`.',
    'VIN_INVALID_CHARACTER',
  ),
  message: field(z.string(), 'For people.', 'A VIN holds the digits 0-9 and the letters A-Z without I, O and Q.'),
};

export const rejectedVinJson = z
  .object({ index: field(z.int(), 'The place in the list, from 0.', 2), ...refused })
  .meta({ id: 'RejectedVin' });

export const rejectedRowJson = z
  .object({ row: field(z.int(), 'The line of the file; the first is 1.', 4), ...refused })
  .meta({ id: 'RejectedRow' });

export const duplicateRowJson = z
  .object({
    row: field(z.int(), 'The row, as a spreadsheet counts.', 7),
    firstRow: field(z.int(), 'The row in which the VIN stands first.', 3),
    value: field(z.string(), 'The VIN.', 'WBA3A5C50CF256985'),
  })
  .meta({ id: 'DuplicateRow', description: 'A row that repeats another one.' });
