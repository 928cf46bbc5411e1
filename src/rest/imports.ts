import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { ValidationFailed } from '../core/errors.ts';
import { importChanges } from '../core/following/subscriptions.ts';
import { importVehicles } from '../core/imports/import-vehicles.ts';
import { getImport, type Import, importSchema } from '../core/imports/imports.ts';
import { readRejectedCsv } from '../core/imports/rejected-csv.ts';
import { isUnderWay } from '../core/imports/run.ts';
import { readInput } from '../core/input.ts';
import { shapeOf } from '../core/sql/selection.ts';
import { REPLAYED, readIdempotencyKey } from '../http/body.ts';
import { eventStream } from './event-stream.ts';
import { importDocs } from './openapi/imports.ts';
import { type Answer, type RestRequest, type Route, readAddQuery } from './route.ts';
import { readUpload } from './upload.ts';

const shape = shapeOf(importSchema);

const rejectedUrl = (importId: string) => `/imports/${importId}/rejected.csv`;

const uploadQuery = z.object({ importId: z.string('stands once').optional() });

async function uploadFile(ctx: Context, request: RestRequest): Promise<Answer> {
  const { mode, dryRun } = readAddQuery(request.query);
  const { importId } = readInput(uploadQuery, request.query);
  const idempotencyKey = readIdempotencyKey(request.header('Idempotency-Key'));
  const upload = await readUpload(ctx, request.incoming, request.query.fleetId);
  try {
    const wanted = { fleetId: upload.fleetId, importId, mode, dryRun };
    const imported = await importVehicles(ctx, wanted, { file: upload.file, signal: request.left(), idempotencyKey });
    const { import: run, summary, rejected, duplicates, repeated } = imported;
    return {
      status: dryRun ? 200 : 201,
      headers: { Location: `/imports/${run.id}`, ...(repeated && { [REPLAYED]: 'true' }) },
      body: { importId: run.id, summary, rejected, duplicates, rejectedCsv: rejectedUrl(run.id) },
    };
  } catch (error) {
    // One that failed for its rows has the same report as one that succeeded.
    if (!(error instanceof ValidationFailed) || typeof error.details.importId !== 'string') throw error;
    const details = { ...error.details, rejectedCsv: rejectedUrl(error.details.importId) };
    throw new ValidationFailed(error.errors, error.message, details, error.errorsOmitted);
  } finally {
    await upload.discard();
  }
}

/** The id of the event that ends a stream: a browser that comes back with it is told not to (204). */
const ENDED = 'ended';

const progressEvent = (run: Import) =>
  `${isUnderWay(run.state) ? '' : `id: ${ENDED}\n`}event: progress\ndata: ${JSON.stringify(shape(run))}\n\n`;

async function followImport(ctx: Context, request: RestRequest): Promise<Answer> {
  const { params } = request;
  const signal = request.closed();
  const changes = await importChanges(ctx, { importId: params.id ?? '' }, signal);
  if (request.header('Last-Event-ID') !== ENDED) return eventStream(request, changes, signal, progressEvent);
  return { status: 204 };
}

async function* behind(first: string, rest: AsyncIterable<string>) {
  yield first;
  yield* rest;
}

export const importRoutes: Route[] = [
  {
    method: 'POST',
    path: '/vehicles/file',
    scope: 'fleets:write',
    body: 'upload',
    docs: importDocs.upload,
    answer: uploadFile,
  },
  {
    method: 'GET',
    path: '/imports/:id',
    scope: 'fleets:read',
    docs: importDocs.get,
    answer: async (ctx, { params }) => ({ status: 200, body: shape(await getImport(ctx, { id: params.id ?? '' })) }),
  },
  { method: 'GET', path: '/imports/:id/events', scope: 'fleets:read', docs: importDocs.events, answer: followImport },
  {
    method: 'GET',
    path: '/imports/:id/rejected.csv',
    scope: 'fleets:read',
    docs: importDocs.rejectedCsv,
    async answer(ctx, { params }) {
      const headers = { 'Content-Disposition': `attachment; filename="rejected.csv"` };
      const { text, rest } = await readRejectedCsv(ctx, { importId: params.id ?? '' });
      if (rest) return { status: 200, headers, stream: { type: 'text/csv', pieces: behind(text, rest) } };
      return { status: 200, headers: { ...headers, 'Content-Type': 'text/csv; charset=utf-8' }, text };
    },
  },
];
