import { descriptionOf } from '../../core/fields.ts';
import { importChanges } from '../../core/following/subscriptions.ts';
import { importVehicles } from '../../core/imports/import-vehicles.ts';
import {
  duplicateRow,
  importedVehicles,
  importSchema,
  importState,
  importVehiclesInput,
  ROWS_SHOWN,
  rejectedRow,
} from '../../core/imports/imports.ts';
import { judgedBy } from '../../core/input.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { uploadOf } from '../transport/upload.ts';
import { builder } from './builder.ts';
import { addById, connectionType, pageArgs } from './connection.ts';
import { enumOf, inputFields, objectOf } from './described.ts';
import { FleetRef } from './fleet-type.ts';
import { mutate } from './mutation.ts';
import { addFleet, rejection } from './vehicles.ts';

enumOf('ImportState', importState, 'How far an import has come.', {
  RUNNING: 'Its file is arriving.',
  STORING: 'Its rows are being stored, all or none.',
  COMPLETED: 'All of its rows are accounted for.',
  FAILED: 'It ended without effect: the fleet is as it was.',
});

export const ImportRef = objectOf('Import', importSchema, { fleetId: false, rejected: false });

const RejectedRowConnection = connectionType('RejectedRow', objectOf('RejectedRow', rejectedRow, rejection));

builder.objectFields(ImportRef, (t) => ({
  fleet: t.field({
    type: FleetRef,
    description: descriptionOf(importSchema.shape.fleetId),
    resolve: read,
  }),
  rejectedCount: t.exposeInt('rejected', { description: descriptionOf(importSchema.shape.rejected) }),
  rejected: t.field({
    type: RejectedRowConnection,
    description:
      'The rejected rows in the order of the file, as far as they are kept: 100,000, unless the operator chose another number.',
    args: pageArgs,
    resolve: read,
  }),
}));

const ImportConnection = connectionType('Import', ImportRef);

builder.objectField(FleetRef, 'imports', (t) =>
  t.field({
    type: ImportConnection,
    description:
      'The files that were uploaded for it, oldest first; for 90 days, unless the operator chose another time.',
    args: pageArgs,
    resolve: read,
  }),
);

objectOf('DuplicateRow', duplicateRow);

addById('import', ImportRef, 'An import as far as it has come. Errors: IMPORT_NOT_FOUND.');

const ImportVehiclesInput = builder.inputType('ImportVehiclesInput', {
  description: importVehiclesInput.description ?? '',
  fields: (t) => ({
    ...inputFields(t, importVehiclesInput),
    file: t.field({
      type: 'Upload',
      required: true,
      description:
        'CSV text, or an Excel workbook (.xlsx), with a column of VINs, with or without a header. At most 256 MiB by default.',
    }),
  }),
});

const shown = { extensions: { size: ROWS_SHOWN } satisfies Cost };
const ImportVehiclesPayload = objectOf('ImportVehiclesPayload', importedVehicles, {
  rejected: shown,
  duplicates: shown,
});
addFleet(ImportVehiclesPayload, ({ import: { fleetId } }) => fleetId);

builder.mutationField('importVehicles', (t) =>
  t.field({
    type: ImportVehiclesPayload,
    nullable: true,
    description:
      'Adds the vehicles of a file to a fleet, as one whole. Errors: FLEET_ID_MISSING, FLEET_NOT_FOUND, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, VALIDATION_FAILED, IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED, RATE_LIMITED.',
    args: {
      input: t.arg({
        type: ImportVehiclesInput,
        required: true,
        description: 'Which file, for which fleet.',
        validate: judgedBy(importVehiclesInput),
      }),
    },
    resolve: mutate(async (ctx, { file, ...input }, { idempotencyKey, res }) =>
      importVehicles(ctx, input, { ...(await uploadOf(file, res)), idempotencyKey }),
    ),
  }),
);

builder.subscriptionField('importProgress', (t) =>
  t.field({
    type: ImportRef,
    description:
      'An import each time it has moved on, at most ten times a second, until it has ended. May be opened before the upload. Errors: IMPORT_NOT_FOUND for what is no UUID.',
    args: { importId: t.arg.id({ required: true, description: 'The id given to `importVehicles`.' }) },
    subscribe: (_root, { importId }, { ctx, closed }) => importChanges(ctx, { importId }, closed()),
    resolve: (run) => run,
  }),
);
