import type { FileUpload } from 'graphql-upload-minimal';
import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { UnsupportedMediaType } from '../../core/errors.ts';
import { followImportChanges } from '../../core/following/follow-import.ts';
import { importVehicles, type UploadedFile } from '../../core/imports/import-vehicles.ts';
import {
  duplicateRowSchema,
  type Import,
  importCommands,
  importedVehiclesSchema,
  importFailureCodeSchema,
  importSchema,
  importStateSchema,
  importVehiclesInput,
  MOST_ROWS_SHOWN,
  rejectedRowSchema,
} from '../../core/imports/imports.ts';
import { REPLAYED } from '../../http/body.ts';
import { piecesOf, tornForm } from '../../http/multipart.ts';
import { type AnswerHead, localsOf } from '../../http/request-context.ts';
import { mayBeTableFile, notTableMessage } from '../../vin-files/index.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType } from './connection.ts';
import { addMutation, enumTypeOf, objectTypeOf, unknownIn } from './described.ts';
import { FleetRef } from './fleets.ts';
import { type CostExtension, type OperationExtension, resolvePlannedField } from './graphql-context.ts';
import { addDefaults, changedFleetOverrides, changedFleetShape, rejectionOverrides } from './vehicles.ts';

enumTypeOf('ImportState', importStateSchema, 'The progress of an import of a file of VINs.', {
  RUNNING: 'The file is being uploaded and read.',
  STORING: 'The vehicles of the file are being stored, all of them or none.',
  COMPLETED: 'The import has ended, and every row is counted as created, existing or rejected.',
  FAILED: 'The import has failed and changed nothing; `failureCode` and `failure` say why.',
});

const ImportFailureCode = enumTypeOf(
  'ImportFailureCode',
  importFailureCodeSchema,
  'The code of the reason why an import failed. Nothing was stored.',
  {
    EVERY_ROW_REJECTED: 'Every row of the uploaded file was rejected.',
    ROWS_REJECTED: 'Rows of the file were rejected, and the mode was ATOMIC.',
    UPLOAD_CUT_OFF: 'The upload of the file broke off, or arrived damaged: its form or its packing could not be read.',
    PROCESS_ENDED: 'The process of the gateway that read the upload ended before the import did.',
    NO_ROWS: 'The uploaded file has no rows.',
    VIN_COLUMN_MISSING: 'No column of the uploaded file has VINs.',
    COLUMN_NOT_FOUND: 'The uploaded file has no column with the name that the request gave.',
    WORKBOOK_DAMAGED: 'The uploaded Excel workbook is damaged.',
    ROW_TOO_LONG: 'A row of the uploaded file has too many characters.',
    TOO_MANY_COLUMNS: 'A row of the uploaded file has too many columns.',
    FIELD_TOO_LONG: 'A cell of the uploaded file has too many characters.',
    QUOTE_NOT_CLOSED: 'A cell of the CSV file opens a quote that is never closed.',
    QUOTE_MISPLACED: 'A quoted cell of the CSV file has text after its closing quote.',
    UNSUPPORTED_MEDIA_TYPE: 'The uploaded file is neither CSV text nor an Excel workbook.',
    PAYLOAD_TOO_LARGE: 'The uploaded file exceeds a limit, which `failure` names.',
    FLEET_NOT_FOUND: 'The fleet of the import was deleted while the file was read.',
    RATE_LIMITED: 'The company had too many uploads or requests under way.',
    UNAVAILABLE: 'The gateway or its database could not store the file. The file can be sent again.',
    INTERNAL: 'The gateway had a fault of its own. The file can be sent again.',
    OTHER: unknownIn('A code', '`failure` says what it means'),
  },
);

export const ImportRef = objectTypeOf('Import', importSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  rejected: { name: 'rejectedCount' },
  failureCode: {
    type: ImportFailureCode,
    resolve: ({ failureCode: code }: Import) => code && importFailureCodeSchema.catch('OTHER').parse(code),
  },
});

addListField(
  'rejected',
  connectionType('RejectedRow', objectTypeOf('RejectedRow', rejectedRowSchema, rejectionOverrides), 'rejected rows'),
  'The rejected rows of the file, in its order. The first 100,000 are kept, unless the operator set another limit.',
  { of: ImportRef },
);

addListField(
  'imports',
  connectionType('Import', ImportRef, 'imports'),
  'The imports of files to the fleet, oldest first. They are kept for 90 days, unless the operator set another time.',
  { of: FleetRef },
);

objectTypeOf('DuplicateRow', duplicateRowSchema);

addByIdField('import', ImportRef, 'Returns an import by its id, with its progress.', { errors: ['IMPORT_NOT_FOUND'] });

const file = z
  .custom<Promise<FileUpload>>((value) => value instanceof Promise)
  .describe(
    'The file to add vehicles from: CSV text or an Excel workbook (.xlsx) with a column of VINs, with or without a header. At most 256 MiB, unless the operator set another limit.',
  );
const shown = { extensions: { size: MOST_ROWS_SHOWN } satisfies CostExtension };

addMutation(
  'importVehicles',
  {
    ...importCommands.importVehicles,
    input: importVehiclesInput.extend({ file }).describe(importVehiclesInput.description ?? ''),
    payload: importedVehiclesSchema.extend(changedFleetShape).describe(importedVehiclesSchema.description ?? ''),
    async change(ctx, { file, ...input }, { idempotencyKey, res }) {
      const upload = await openUploadedFile(file, ctx, res);
      const imported = await importVehicles(ctx, input, { ...upload, idempotencyKey });
      if (imported.repeated) res.setHeader(REPLAYED, 'true');
      return { ...imported, fleetId: imported.import.fleetId };
    },
  },
  {
    input: { ...addDefaults, file: { type: 'Upload' } },
    payload: { ...changedFleetOverrides, rejected: shown, duplicates: shown },
  },
);

schemaBuilder.subscriptionField('importProgress', (t) =>
  t.field({
    type: ImportRef,
    description:
      'Sends an import whenever it has progressed, at most ten times a second, until it has ended. It may be opened before the upload, for a UUID of your choice; any other id is IMPORT_NOT_FOUND.',
    extensions: { errors: ['IMPORT_NOT_FOUND'] } satisfies OperationExtension,
    args: { importId: t.arg.id({ required: true, description: 'The id of the import to follow, a UUID.' }) },
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
