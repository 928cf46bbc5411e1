import { importChanges } from '../../core/following/subscriptions.ts';
import {
  type ImportedVehicles,
  importVehicles,
  importVehiclesInput,
  REJECTED_SHOWN,
} from '../../core/imports/import-vehicles.ts';
import { type DuplicateRow, getImport, type Import, type RejectedRow } from '../../core/imports/imports.ts';
import { readPage } from '../../core/sql/page.ts';
import type { Cost } from '../execution/cost.ts';
import { fileOf } from '../transport/uploads.ts';
import { builder } from './builder.ts';
import { connect, connectionType, pageArgs } from './connection.ts';
import { FleetRef } from './fleets.ts';
import { mutate } from './mutation.ts';
import { judgedBy } from './validation.ts';
import { AddMode, AddSummary } from './vehicles.ts';

const ImportState = builder.enumType('ImportState', {
  description: 'How far an import has come.',
  values: {
    RUNNING: { description: 'Its file is arriving or being stored.' },
    COMPLETED: { description: 'All of its rows are accounted for.' },
    FAILED: { description: 'It ended without effect: the fleet is as it was.' },
  },
});

export const ImportRef = builder.objectRef<Import>('Import');

builder.objectType(ImportRef, {
  description: 'An uploaded file of VINs and what became of its rows.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; the same as in REST.' }),
    fleet: t.field({
      type: FleetRef,
      description: 'The fleet its vehicles belong to.',
      resolve: ({ fleetId }, _args, { loaders }) => loaders.fleet(fleetId),
    }),
    state: t.field({ type: ImportState, description: 'How far it has come.', resolve: ({ state }) => state }),
    received: t.exposeInt('received', { description: 'Rows read so far.' }),
    created: t.exposeInt('created', { description: 'New vehicles; known when it has ended.' }),
    existing: t.exposeInt('existing', { description: 'Rows whose vehicle the fleet had; known when it has ended.' }),
    rejected: t.exposeInt('rejected', { description: 'Rows that were refused.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it runs.',
    }),
  }),
});

const ImportConnection = connectionType('Import', ImportRef);

builder.objectField(FleetRef, 'imports', (t) =>
  t.field({
    type: ImportConnection,
    description:
      'The files that were uploaded for it, oldest first; for 90 days, unless the operator chose another time.',
    args: pageArgs,
    resolve: ({ id }, args, { loaders }) =>
      connect(
        readPage(args),
        (page) => loaders.importsOfFleet(id, { page }),
        () => loaders.countImportsOfFleet(id, null),
      ),
  }),
);

const RejectedRowType = builder.objectRef<RejectedRow>('RejectedRow').implement({
  description: 'A row of a file that was refused.',
  fields: (t) => ({
    row: t.exposeInt('row', { description: 'The row of the file, as people count: the first is 1.' }),
    value: t.exposeString('value', { description: 'What stood where the VIN should.' }),
    code: t.exposeString('code', { description: 'A stable code, such as `VIN_INVALID_LENGTH`.' }),
    message: t.exposeString('message', { description: 'What is wrong, for people.' }),
  }),
});

const DuplicateRowType = builder.objectRef<DuplicateRow>('DuplicateRow').implement({
  description: 'A row that repeats the VIN of an earlier one; it counts as existing.',
  fields: (t) => ({
    row: t.exposeInt('row', { description: 'The row of the file, as people count: the first is 1.' }),
    firstRow: t.exposeInt('firstRow', { description: 'The row with the same VIN before it.' }),
    value: t.exposeString('value', { description: 'What stands there as the VIN.' }),
  }),
});

builder.queryField('import', (t) =>
  t.field({
    type: ImportRef,
    nullable: true,
    description: 'An import as far as it has come. Errors: IMPORT_NOT_FOUND.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, { ctx }) => getImport(ctx, { id }),
  }),
);

const ImportVehiclesInput = builder.inputType('ImportVehiclesInput', {
  description: 'A CSV file of VINs for a fleet.',
  fields: (t) => ({
    fleetId: t.id({ required: true, description: 'The fleet.' }),
    file: t.field({
      type: 'Upload',
      required: true,
      description: 'CSV text with a column of VINs, with or without a header. At most 256 MiB by default.',
    }),
    importId: t.id({
      description: 'A UUID of your choice: follow it with `importProgress`, and send the file again safely.',
    }),
    mode: t.field({ type: AddMode, description: 'By default PARTIAL.' }),
    dryRun: t.boolean({ description: 'True: say what would happen, and store nothing. By default false.' }),
  }),
});

const ImportVehiclesPayload = builder.objectRef<ImportedVehicles>('ImportVehiclesPayload').implement({
  description: 'What became of the file.',
  fields: (t) => ({
    import: t.expose('import', { type: ImportRef, description: 'The import.' }),
    summary: t.expose('summary', { type: AddSummary, description: 'Its rows in numbers.' }),
    rejected: t.expose('rejected', {
      type: [RejectedRowType],
      extensions: { size: REJECTED_SHOWN } satisfies Cost,
      description: 'The first 100 refused rows. All of them, as CSV: GET /imports/{id}/rejected.csv.',
    }),
    duplicates: t.expose('duplicates', {
      type: [DuplicateRowType],
      extensions: { size: REJECTED_SHOWN } satisfies Cost,
      description: 'The first 100 rows that repeat another one.',
    }),
  }),
});

builder.mutationField('importVehicles', (t) =>
  t.field({
    type: ImportVehiclesPayload,
    nullable: true,
    description:
      'Adds the vehicles of a file to a fleet, as one whole. Errors: FLEET_ID_MISSING, FLEET_NOT_FOUND, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, VALIDATION_FAILED, IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED.',
    args: {
      input: t.arg({
        type: ImportVehiclesInput,
        required: true,
        description: 'Which file, for which fleet.',
        validate: judgedBy(importVehiclesInput),
      }),
    },
    resolve: mutate(async (ctx, { file, ...input }, { idempotencyKey }) =>
      importVehicles(ctx, input, { file: await fileOf(file), idempotencyKey }),
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
