import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { ValidationFailed } from '../core/errors.ts';
import { field } from '../core/fields.ts';
import { followImportChanges } from '../core/following/follow-import.ts';
import { isImportUnderWay } from '../core/imports/import-run.ts';
import { importVehicles, refuseIfFailed } from '../core/imports/import-vehicles.ts';
import {
  getImport,
  type Import,
  importCommands,
  importedVehiclesSchema,
  importSchema,
} from '../core/imports/imports.ts';
import { readRejectedCsv } from '../core/imports/rejected-csv.ts';
import { copierOf } from '../core/sql/selection.ts';
import { REPLAYED, readIdempotencyKey } from '../http/body.ts';
import { readAddQuery } from './add-query.ts';
import { eventStream } from './events.ts';
import { readQuery } from './list.ts';
import { type Answer, inRest, operations, type RestRequest } from './route.ts';
import { readUpload } from './upload.ts';

const { import: _, ...report } = importedVehiclesSchema.shape;
const importedJson = z
  .object({
    importId: importSchema.shape.id,
    ...report,
    rejectedCsv: field(
      z.string(),
      'The address of all rejected rows, as CSV.',
      '/imports/019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d/rejected.csv',
    ),
  })
  .meta({ id: 'ImportedVehicles', description: importedVehiclesSchema.description });

/** The fields of the form, which is read by hand, as it arrives. */
const form = z.object({
  fleetId: z.string().meta({ ...importSchema.shape.fleetId.meta() }),
  column: z
    .string()
    .optional()
    .meta({ description: 'The name of the column that holds the VINs, before the file. The query has it, too.' }),
  vins: z.string().meta({
    description:
      'The file: CSV text in UTF-8, UTF-16 or Windows-1252, with commas, semicolons, tabs or bars between cells; or an Excel ' +
      'workbook (.xlsx), of which the first sheet with a column of VINs is read. The column is found by its name (`vin` and the like, in ' +
      'fifteen languages) or by its VINs, with or without a header, also below a title.',
    format: 'binary',
  }),
});

const shape = copierOf(importSchema);

const rejectedUrl = (request: RestRequest, importId: string) =>
  `${request.basePath()}/imports/${importId}/rejected.csv`;

async function uploadFile(ctx: Context, request: RestRequest): Promise<Answer> {
  const { mode, dryRun } = readAddQuery(request.query);
  const { importId, ...query } = readQuery(request);
  const idempotencyKey = readIdempotencyKey(request.header('Idempotency-Key'));
  const upload = await readUpload(ctx, request.incoming, query);
  try {
    const input = { fleetId: upload.fleetId, importId, mode, dryRun, column: upload.column };
    const file = { ...upload, signal: request.left(), idempotencyKey };
    const imported = await importVehicles(ctx, input, file);
    refuseIfFailed(imported);
    const { import: run, repeated, ...rows } = imported;
    return {
      status: dryRun ? 200 : 201,
      headers: { Location: `/imports/${run.id}`, ...(repeated && { [REPLAYED]: 'true' }) },
      body: { importId: run.id, ...rows, rejectedCsv: rejectedUrl(request, run.id) },
    };
  } catch (error) {
    // An import that failed for its rows has the same report as one that succeeded.
    if (!(error instanceof ValidationFailed) || typeof error.details.importId !== 'string') throw error;
    const details = { ...error.details, rejectedCsv: rejectedUrl(request, error.details.importId) };
    throw new ValidationFailed(error.errors, error.message, details, error.errorsOmitted);
  } finally {
    await upload.discard();
  }
}

/** The id of the event that ends a stream; a browser that comes back with it gets a 204 and does not come again. */
const ENDED = 'ended';

const progressEvent = (run: Import) =>
  `${isImportUnderWay(run.state) ? '' : `id: ${ENDED}\n`}event: progress\ndata: ${JSON.stringify(shape(run))}\n\n`;

async function followImport(ctx: Context, request: RestRequest): Promise<Answer> {
  const signal = request.closed();
  const changes = await followImportChanges(ctx, { importId: request.params.id }, signal);
  if (request.header('Last-Event-ID') !== ENDED) return eventStream(ctx, changes, signal, progressEvent);
  return { status: 204 };
}

const { get, post } = operations('Imports', { resource: importSchema, missing: 'IMPORT_NOT_FOUND' });

export const importRoutes = [
  post('/vehicles/file', 'importVehicles', {
    tag: 'Vehicles',
    summary: 'Add vehicles from a file',
    ...inRest(
      importCommands.importVehicles,
      'If all are rejected, the answer is 400 with the same report. The file is a part of a form, or the whole body, with `?fleetId=` and perhaps the `Content-Encoding` gzip, deflate or br.',
    ),
    query: ['mode', 'dryRun', 'fleetId', 'importId', 'column'],
    body: form,
    files: {
      'text/csv': 'vin\nWBA3A5C50CF256985\n',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': null,
    },
    answers: {
      200: {
        description: 'The report of a dry run of adding vehicles, which stored nothing.',
        schema: importedJson,
        headers: ['Location'],
      },
      201: { description: 'The report on the rows of the uploaded file.', schema: importedJson, headers: ['Location'] },
    },
    answer: uploadFile,
  }),
  get('/imports/:id', 'getImport', {
    summary: 'Get an import',
    description:
      'Returns an import with its progress or its outcome. Imports are kept for 90 days, unless the operator set another time.',
    answers: { 200: 'The import with this id.' },
    result: (ctx, { params }) => getImport(ctx, params),
  }),
  get('/imports/:id/events', 'followImport', {
    summary: 'Follow an import',
    description:
      'Streams the progress of an import as server-sent events named `progress`, each with the Import as JSON: at most ten ' +
      'a second, the last one with the final counts. The stream may be opened before the upload that has this id as `importId`.',
    answers: {
      200: {
        description: 'The progress of the import as a stream.',
        schema: field(
          z.string(),
          'A stream of server-sent events.',
          'event: progress\ndata: {"state":"RUNNING","received":1000}\n\n',
        ),
        type: 'text/event-stream',
      },
      204: {
        description:
          'The import has ended, and the client has seen its end (`Last-Event-ID`). Browsers do not open it again then.',
      },
    },
    answer: followImport,
  }),
  get('/imports/:id/rejected.csv', 'getRejectedRows', {
    summary: 'Get the rejected rows',
    description:
      'Returns the rejected rows with the columns of the file, and `error_code` and `error_message` behind them. The corrected file ' +
      'can be uploaded as it is. It is UTF-8 with a byte order mark, with formulas made harmless.',
    answers: {
      200: {
        description: 'The rejected rows, as CSV.',
        schema: field(z.string(), 'The rejected rows as CSV text.', 'vin,error_code,error_message\n'),
        type: 'text/csv',
        headers: ['Content-Disposition'],
      },
    },
    async answer(ctx, { params }) {
      const headers = { 'Content-Disposition': `attachment; filename="rejected.csv"` };
      const csv = await readRejectedCsv(ctx, { importId: params.id });
      if ('pieces' in csv) return { headers, stream: { type: 'text/csv', ...csv } };
      return { headers: { ...headers, 'Content-Type': 'text/csv; charset=utf-8' }, ...csv };
    },
  }),
];
