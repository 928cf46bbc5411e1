import type { FileUpload } from 'graphql-upload-minimal';
import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { UnsupportedMediaType } from '../../core/errors.ts';
import { followImportChanges } from '../../core/following/follow-import.ts';
import { mayBeTableFile, notTableMessage } from '../../core/imports/csv/head.ts';
import { importVehicles, type UploadedFile } from '../../core/imports/import-vehicles.ts';
import {
  duplicateRowSchema,
  importedVehiclesSchema,
  importSchema,
  importStateSchema,
  importVehiclesInput,
  MOST_ROWS_SHOWN,
  rejectedRowSchema,
} from '../../core/imports/imports.ts';
import { REPLAYED } from '../../http/body.ts';
import { piecesOf, tornForm } from '../../http/multipart.ts';
import { type AnswerHead, localsOf } from '../../http/request-context.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType } from './connection.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { addMutation } from './mutation.ts';
import { resolvePlannedField } from './planned.ts';
import { changedFleetOverrides, changedFleetShape, rejectionOverrides } from './vehicles.ts';

enumTypeOf('ImportState', importStateSchema, 'How far an import has come.', {
  RUNNING: 'Its file is arriving.',
  STORING: 'Its rows are being stored, all or none.',
  COMPLETED: 'All of its rows are accounted for.',
  FAILED: 'It ended without effect: the fleet is as it was.',
});

export const ImportRef = objectTypeOf('Import', importSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  rejected: { name: 'rejectedCount' },
});

addListField(
  'rejected',
  connectionType('RejectedRow', objectTypeOf('RejectedRow', rejectedRowSchema, rejectionOverrides)),
  'The rejected rows in the order of the file, as far as they are kept: 100,000, unless the operator chose another number.',
  { of: ImportRef },
);

addListField(
  'imports',
  connectionType('Import', ImportRef),
  'The files that were uploaded for it, oldest first; for 90 days, unless the operator chose another time.',
  { of: FleetRef },
);

objectTypeOf('DuplicateRow', duplicateRowSchema);

addByIdField('import', ImportRef, 'An import as far as it has come. Errors: IMPORT_NOT_FOUND.');

const file = z
  .custom<Promise<FileUpload>>((value) => value instanceof Promise)
  .describe(
    'CSV text, or an Excel workbook (.xlsx), with a column of VINs, with or without a header. At most 256 MiB by default.',
  );
const shown = { extensions: { size: MOST_ROWS_SHOWN } satisfies CostExtension };

addMutation(
  'importVehicles',
  {
    description:
      'Adds the vehicles of a file to a fleet, as one whole. Errors: FLEET_ID_MISSING, FLEET_NOT_FOUND, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, VALIDATION_FAILED, IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED, RATE_LIMITED.',
    input: importVehiclesInput.extend({ file }).describe(importVehiclesInput.description ?? ''),
    inputMeaning: 'Which file, for which fleet.',
    payload: importedVehiclesSchema.extend(changedFleetShape).describe(importedVehiclesSchema.description ?? ''),
    async change(ctx, { file, ...input }, { idempotencyKey, res }) {
      const upload = await openUploadedFile(file, ctx, res);
      const imported = await importVehicles(ctx, input, { ...upload, idempotencyKey });
      if (imported.repeated) res.setHeader(REPLAYED, 'true');
      return { ...imported, fleetId: imported.import.fleetId };
    },
  },
  { input: { file: { type: 'Upload' } }, payload: { ...changedFleetOverrides, rejected: shown, duplicates: shown } },
);

schemaBuilder.subscriptionField('importProgress', (t) =>
  t.field({
    type: ImportRef,
    description:
      'An import each time it has moved on, at most ten times a second, until it has ended. May be opened before the upload. Errors: IMPORT_NOT_FOUND for what is no UUID.',
    args: { importId: t.arg.id({ required: true, description: 'The id given to `importVehicles`.' }) },
    subscribe: (_root, { importId }, { ctx, closed }) => followImportChanges(ctx, { importId }, closed()),
    resolve: (run) => run,
  }),
);

/** An uploaded file as it arrives. Throws UnsupportedMediaType and ValidationFailed, also while the file is read. */
async function openUploadedFile(
  upload: Promise<FileUpload>,
  { left }: Context,
  res: AnswerHead,
): Promise<Pick<UploadedFile, 'file' | 'name' | 'signal'>> {
  localsOf(res).readsUpload = true;
  try {
    const { filename, mimetype, createReadStream } = await upload;
    if (!mayBeTableFile(mimetype)) throw new UnsupportedMediaType(notTableMessage(mimetype));
    return { file: piecesOf(createReadStream()), name: filename, signal: left?.() ?? AbortSignal.abort() };
  } catch (error) {
    throw tornForm(error);
  }
}
