import { z } from 'zod';
import { field } from '../../core/fields.ts';
import { importStates } from '../../core/imports/imports.ts';
import { summary } from '../../core/vehicles/vin-lists.ts';
import type { RouteDocs } from './route-docs.ts';
import { duplicateRowJson, rejectedRowJson } from './shapes.ts';

const importId = field(z.uuid(), 'Identifies the import.', '019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d');
const fleetId = field(z.uuid(), 'The fleet.', '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b');

const importJson = z
  .object({
    id: importId,
    fleetId,
    state: field(z.enum(importStates), 'A failed import has changed nothing.', 'COMPLETED'),
    ...summary.shape,
    startedAt: field(z.iso.datetime(), 'When the upload began.', '2026-11-20T08:00:00.000Z'),
    finishedAt: field(z.iso.datetime().nullable(), 'When it ended; null while it runs.', '2026-11-20T08:00:03.000Z'),
  })
  .meta({ id: 'Import', description: 'An uploaded file and what became of its rows.' });

const importedJson = z
  .object({
    importId,
    summary,
    rejected: z.array(rejectedRowJson).meta({ description: 'The first 100 refused rows.' }),
    duplicates: z.array(duplicateRowJson).meta({
      description: 'The first 100 rows that repeat the VIN of an earlier one; they count as existing.',
    }),
    rejectedCsv: field(
      z.string(),
      'Where all refused rows are, as CSV.',
      '/imports/019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d/rejected.csv',
    ),
  })
  .meta({ id: 'ImportedVehicles', description: 'What became of the rows of a file.' });

/** The fields of the form, which is read by hand, as it arrives. */
const form = z.object({
  fleetId: z.string().meta({ ...fleetId.meta() }),
  vins: z.string().meta({
    description:
      'CSV text, in UTF-8, UTF-16 or Windows-1252, separated by commas, semicolons, tabs or bars: with a header that ' +
      'names the column `vin`, below a title or not, or with no header at all.',
    format: 'binary',
  }),
});

export const importDocs = {
  upload: {
    operationId: 'importVehicles',
    tag: 'Vehicles',
    summary: 'Add vehicles from a CSV file',
    description:
      'Adds the vehicles of a CSV file to a fleet, as one whole: an upload that breaks off leaves the fleet as it was. ' +
      'Good rows are stored even if others are refused; if all are refused, that is a 400 with the same report.',
    query: ['mode', 'dryRun', 'fleetId', 'importId'],
    body: { type: 'multipart/form-data', input: form, fields: form },
    answers: {
      200: { description: 'What would be stored (`dryRun`).', schema: importedJson, headers: ['Location'] },
      201: { description: 'What was stored.', schema: importedJson, headers: ['Location'] },
    },
    errors: ['FLEET_ID_MISSING', 'FLEET_NOT_FOUND'],
  },
  get: {
    operationId: 'getImport',
    tag: 'Imports',
    summary: 'Get an import',
    description: 'How far an import is, or what became of it: for 90 days, unless the operator chose another time.',
    answers: { 200: { description: 'The import.', schema: importJson } },
    errors: ['IMPORT_NOT_FOUND'],
  },
  events: {
    operationId: 'followImport',
    tag: 'Imports',
    summary: 'Follow an import',
    description:
      'Server-sent events named `progress`, each with the Import as JSON: at most ten a second, the last one with the ' +
      'final counts. May be opened before the upload that names this id as its `importId`.',
    answers: {
      200: {
        description: 'The import as it moves on.',
        schema: field(
          z.string(),
          'Server-sent events.',
          'event: progress\ndata: {"state":"RUNNING","received":1000}\n\n',
        ),
        type: 'text/event-stream',
      },
      204: { description: 'It has ended, and `Last-Event-ID` says that this was told: a browser does not come back.' },
    },
    errors: ['IMPORT_NOT_FOUND'],
  },
  rejectedCsv: {
    operationId: 'getRejectedRows',
    tag: 'Imports',
    summary: 'Get the refused rows',
    description:
      'The refused rows in the layout of the file, with `error_code` and `error_message` at their end. Mended, it can ' +
      'be uploaded as it is. UTF-8 with a byte order mark; what a spreadsheet would run as a formula is defused.',
    answers: {
      200: {
        description: 'The refused rows.',
        schema: field(z.string(), 'CSV text.', 'vin,error_code,error_message\n'),
        type: 'text/csv',
        headers: ['Content-Disposition'],
      },
    },
    errors: ['IMPORT_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
