import { z } from 'zod';
import { field } from '../../core/fields.ts';
import { importedVehicles, importSchema } from '../../core/imports/imports.ts';
import type { RouteDocs } from './route-docs.ts';

const { import: _, ...report } = importedVehicles.shape;
const importedJson = z
  .object({
    importId: importSchema.shape.id,
    ...report,
    rejectedCsv: field(
      z.string(),
      'Where all rejected rows are, as CSV.',
      '/imports/019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d/rejected.csv',
    ),
  })
  .meta({ id: 'ImportedVehicles', description: importedVehicles.description });

/** The fields of the form, which is read by hand, as it arrives. */
const form = z.object({
  fleetId: z.string().meta({ ...importSchema.shape.fleetId.meta() }),
  vins: z.string().meta({
    description:
      'CSV text, in UTF-8, UTF-16 or Windows-1252, separated by commas, semicolons, tabs or bars; or an Excel workbook ' +
      '(.xlsx), whose first sheet counts. With a header that names the column `vin`, in any of six languages, below a ' +
      'title or not; or with no header at all.',
    format: 'binary',
  }),
});

export const importDocs = {
  upload: {
    operationId: 'importVehicles',
    tag: 'Vehicles',
    summary: 'Add vehicles from a file',
    description:
      'Adds the vehicles of a CSV file or an Excel workbook to a fleet, as one whole: an upload that breaks off leaves the ' +
      'fleet as it was. The file comes in a form, or is the body itself, for the fleet `?fleetId=`. ' +
      'Good rows are stored even if others are rejected; if all are rejected, that is a 400 with the same report.',
    query: ['mode', 'dryRun', 'fleetId', 'importId'],
    body: {
      type: 'multipart/form-data',
      input: form,
      files: {
        'text/csv': 'vin\nWBA3A5C50CF256985\n',
        'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': null,
      },
    },
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
    answers: { 200: { description: 'The import.', schema: importSchema } },
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
    summary: 'Get the rejected rows',
    description:
      'The rejected rows in the layout of the file, with `error_code` and `error_message` at their end. Mended, it can ' +
      'be uploaded as it is. UTF-8 with a byte order mark; what a spreadsheet would run as a formula is defused.',
    answers: {
      200: {
        description: 'The rejected rows.',
        schema: field(z.string(), 'CSV text.', 'vin,error_code,error_message\n'),
        type: 'text/csv',
        headers: ['Content-Disposition'],
      },
    },
    errors: ['IMPORT_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
