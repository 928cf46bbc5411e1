import { z } from 'zod';
import { importStates } from '../../entities/import.ts';
import { field } from '../fields.ts';
import { id } from '../input.ts';
import { addOptions, refused, summary } from '../vehicles/vin-lists.ts';

export const importState = z.enum(importStates);
export type ImportState = z.output<typeof importState>;

const importId = '019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d';
const fleetId = '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b';

/** One uploaded file and what became of its rows. Times are ISO 8601 UTC. */
export const importSchema = z
  .object({
    id: field(z.uuid(), 'Identifies the import: the same in both interfaces.', importId),
    fleetId: field(z.uuid(), 'The fleet its vehicles belong to.', fleetId),
    state: field(importState, 'How far it has come. A failed import has changed nothing.', 'COMPLETED'),
    received: field(z.int(), 'Rows read so far.', 3),
    created: field(z.int(), 'New vehicles, once it has completed.', 1),
    existing: field(z.int(), 'Rows whose vehicle the fleet had, once it has completed.', 1),
    rejected: field(z.int(), 'Rows that were rejected.', 1),
    startedAt: field(z.iso.datetime(), 'When the upload began.', '2026-11-20T08:00:00.000Z'),
    storingSince: field(
      z.iso.datetime().nullable(),
      'When its rows began to be stored; null while they arrive.',
      '2026-11-20T08:00:02.000Z',
    ),
    finishedAt: field(z.iso.datetime().nullable(), 'When it ended; null while it runs.', '2026-11-20T08:00:03.000Z'),
  })
  .meta({ id: 'Import', description: 'An uploaded file of VINs and what became of its rows.' });
export type Import = z.output<typeof importSchema>;

/** A row of a file that was rejected. */
export const rejectedRow = z
  .object({ row: field(z.int(), 'The row of the file, as people count: the first is 1.', 4), ...refused })
  .meta({ id: 'RejectedRow', description: 'A row of a file that was rejected.' });

export const duplicateRow = z
  .object({
    row: field(z.int(), 'The row of the file, as people count: the first is 1.', 7),
    firstRow: field(z.int(), 'The row in which the VIN stands first.', 3),
    value: field(z.string(), 'What stands there as the VIN.', 'WBA3A5C50CF256985'),
  })
  .meta({ id: 'DuplicateRow', description: 'A row that repeats the VIN of an earlier one; it counts as existing.' });

export const importVehiclesInput = z
  .object({
    fleetId: id.describe('The fleet.'),
    importId: z
      .uuid('must be a UUID')
      .nullish()
      .describe('A UUID of your choice: follow the import by it, and send the file again safely.'),
    ...addOptions,
  })
  .describe('A file of VINs for a fleet.');

/** Rows of a file that an answer lists. */
export const ROWS_SHOWN = 100;

export const importedVehicles = z
  .object({
    import: importSchema.describe('The import.'),
    summary: summary.describe('Its rows in numbers.'),
    rejected: z
      .array(rejectedRow)
      .describe(`The first ${ROWS_SHOWN} rejected rows. All of them, as CSV: GET /imports/{id}/rejected.csv.`),
    duplicates: z.array(duplicateRow).describe(`The first ${ROWS_SHOWN} rows that repeat another one.`),
  })
  .describe('What became of the file.');
