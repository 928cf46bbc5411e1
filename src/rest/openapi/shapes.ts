import { z } from 'zod';
import { field } from '../../core/fields.ts';
import { refused } from '../../core/vehicles/vin-lists.ts';

/** Parts of answers that several resources have. */

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
