import type { Context } from '../core/context.ts';
import { ValidationFailed } from '../core/errors.ts';
import { importVehicles } from '../core/import-vehicles.ts';
import { getImport, type Import, streamRejectedCsv } from '../core/imports.ts';
import { readIdempotencyKey } from '../http/idempotency.ts';
import { importDocs } from './openapi/imports.ts';
import { type Answer, type RestRequest, type Route, readAddQuery } from './route.ts';
import { readUpload } from './upload.ts';

const shape = (run: Import) => ({
  id: run.id,
  fleetId: run.fleetId,
  state: run.state,
  received: run.received,
  created: run.created,
  existing: run.existing,
  rejected: run.rejected,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
});

const rejectedUrl = (importId: string) => `/imports/${importId}/rejected.csv`;

async function uploadFile(ctx: Context, request: RestRequest): Promise<Answer> {
  const { mode, dryRun } = readAddQuery(request.query);
  const idempotencyKey = readIdempotencyKey(request.header('Idempotency-Key'));
  const upload = await readUpload(request.incoming, {
    fleetId: request.query.fleetId,
    maxFileBytes: ctx.services.config.LIMIT_FILE_BYTES,
  });
  try {
    const {
      import: run,
      summary,
      rejected,
    } = await importVehicles(ctx, { fleetId: upload.fleetId, mode, dryRun }, { file: upload.file, idempotencyKey });
    return {
      status: dryRun ? 200 : 201,
      headers: { Location: `/imports/${run.id}` },
      body: { importId: run.id, summary, rejected, rejectedCsv: rejectedUrl(run.id) },
    };
  } catch (error) {
    // A refusal for its rows has the same report as a success.
    if (!(error instanceof ValidationFailed) || typeof error.details.importId !== 'string') throw error;
    throw new ValidationFailed(error.errors, error.message, {
      ...error.details,
      rejectedCsv: rejectedUrl(error.details.importId),
    });
  } finally {
    await upload.discard();
  }
}

export const importRoutes: Route[] = [
  { method: 'POST', path: '/vehicles/file', body: 'upload', docs: importDocs.upload, answer: uploadFile },
  {
    method: 'GET',
    path: '/imports/:id',
    docs: importDocs.get,
    answer: async (ctx, { params }) => ({ status: 200, body: shape(await getImport(ctx, { id: params.id ?? '' })) }),
  },
  {
    method: 'GET',
    path: '/imports/:id/rejected.csv',
    docs: importDocs.rejectedCsv,
    answer: async (ctx, { params }) => ({
      status: 200,
      headers: { 'Content-Disposition': `attachment; filename="rejected.csv"` },
      stream: { type: 'text/csv', pieces: await streamRejectedCsv(ctx, { importId: params.id ?? '' }) },
    }),
  },
];
