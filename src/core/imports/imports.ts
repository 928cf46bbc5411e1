import { expressionBuilder } from 'kysely';
import { z } from 'zod';
import { importStates } from '../../entities/import.ts';
import { fileErrorCodes } from '../../vin-files/index.ts';
import { authorize, type CommandDescription, type Context, contextOfNewestRead } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { exampleIds, field, timeField, timeOrNullField } from '../fields.ts';
import { existingFleetConditions, fleetExistsExpression } from '../fleets/fleet.ts';
import { idSchema } from '../input.ts';
import { lostCursor } from '../sql/order.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoTimeExpression, jsonMembersOf, jsonSql } from '../sql/selection.ts';
import { db, isId, prepare, type RowKey } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { addOptionFields, addSummarySchema, refusedValueFields, rejectionCodes } from '../vehicles/vin-lists.ts';

export const importStateSchema = z.enum(importStates);
export type ImportState = z.output<typeof importStateSchema>;

/** Codes of failures; files and errors have codes of their own. */
export const importFailureCodes = [
  ...(['EVERY_ROW_REJECTED', 'ROWS_REJECTED', 'UPLOAD_CUT_OFF', 'PROCESS_ENDED', ...fileErrorCodes] as const),
  ...(['UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE'] as const),
  ...(['FLEET_NOT_FOUND', 'RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL'] as const),
] as const;
export type ImportFailureCode = (typeof importFailureCodes)[number];
/** Another version of the gateway may have stored a code that this version does not know. */
export const importFailureCodeSchema = z.enum([...importFailureCodes, 'OTHER']);

export const importSchema = z
  .object({
    id: field(z.uuid(), 'The id of the import, a UUID: the same in GraphQL and REST.', exampleIds.import),
    fleetId: field(z.uuid(), 'The fleet that the import adds the vehicles to.', exampleIds.fleet),
    state: field(importStateSchema, 'The progress of the import. A failed import has changed nothing.', 'COMPLETED'),
    received: field(z.int(), 'The number of rows of the file read so far.', 3),
    created: field(z.int(), 'The number of vehicles that the import created; 0 until it has completed.', 1),
    existing: field(
      z.int(),
      'The number of rows that repeat another’s VIN, or whose VIN the fleet had before; 0 until the import has completed.',
      1,
    ),
    rejected: field(z.int(), 'The number of rows of the file rejected so far.', 1),
    fileName: field(
      z.string().nullable(),
      'The name of the uploaded file as it was sent, without its path: at most 255 characters. Null if none was sent.',
      'Vehicles of Berlin.xlsx',
    ),
    sheet: field(
      z.string().nullable(),
      'The sheet of the uploaded workbook that was read: the first with a column of VINs. Null for CSV.',
      'Vehicles',
    ),
    column: field(z.string().nullable(), 'The header of the file’s column of VINs; null without a header.', 'VIN'),
    dryRun: field(z.boolean(), 'True for a dry run, which reports what would be stored and stores nothing.', false),
    failure: field(z.string().nullable(), 'The reason why the import failed, as a sentence; null if it did not.', null),
    failureCode: field(
      z.string().nullable(),
      'The code of the reason why the import failed, for programs; null if it did not fail, or failed in version 0.2.0.',
      null,
    ),
    startedAt: timeField('The time at which the upload of the file began.', '2026-11-20T08:00:00.000Z'),
    storingSince: timeOrNullField('The time at which storing the vehicles began, or null.', '2026-11-20T08:00:02.000Z'),
    finishedAt: timeOrNullField('The time at which the import ended; null until then.', '2026-11-20T08:00:03.000Z'),
  })
  .meta({ id: 'Import', description: 'The upload of a file of VINs to a fleet, with its progress and its outcome.' });
export type Import = z.output<typeof importSchema>;

export const rejectedRowSchema = z
  .object({
    row: field(z.int(), 'The number of the row in the uploaded file: its first, header or not, is 1.', 4),
    ...refusedValueFields,
  })
  .meta({ id: 'RejectedRow', description: 'A row of an uploaded file that was rejected, with the reason.' });

export const duplicateRowSchema = z
  .object({
    row: field(z.int(), 'The number of the row in the uploaded file: its first, header or not, is 1.', 7),
    firstRow: field(z.int(), 'The number of the first row of the file with the same VIN.', 3),
    value: field(z.string(), 'The repeated VIN as it stands in the row of the file.', 'WBA3A5C50CF256985'),
  })
  .meta({
    id: 'DuplicateRow',
    description: 'A row of an uploaded file that repeats the VIN of an earlier row. It counts as existing.',
  });

export const importVehiclesInput = z
  .object({
    fleetId: idSchema.describe('The id of the fleet to add the vehicles to.'),
    importId: z
      .uuid('must be a UUID')
      .nullish()
      .describe(
        'The id of the new import, a UUID of your choice. With it you can follow the import before the upload, and safely send the file again.',
      ),
    column: z
      .string()
      .nullish()
      .transform((name) => name?.trim() || undefined)
      .describe(
        'The name of the column that holds the VINs, as the file has it, regardless of case; by default the column is found by its name or its VINs.',
      ),
    ...addOptionFields,
  })
  .describe('The file of VINs to add to a fleet, and the treatment of rejected rows.');

export const importCommands = {
  importVehicles: {
    description:
      'Adds the vehicles of a CSV file or an Excel workbook to a fleet. Valid rows are stored even if others are rejected, unless `mode` demands all or none; `rejected` has the others. An import of which nothing is accepted has failed. An upload that breaks off changes nothing.',
    scope: 'fleets:write',
    errors: [
      ...(['FLEET_ID_MISSING', 'FLEET_NOT_FOUND', 'VALIDATION_FAILED', 'COLUMN_NOT_FOUND'] as const),
      ...(['UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE'] as const),
    ],
    example: { fleetId: exampleIds.fleet, file: null },
  },
} satisfies Record<string, CommandDescription>;

export const MOST_ROWS_SHOWN = 100;

export const importedVehiclesSchema = z
  .object({
    import: importSchema.describe('The import of the uploaded file.'),
    sheet: importSchema.shape.sheet,
    column: importSchema.shape.column,
    summary: addSummarySchema.describe('The outcome of the import, in numbers of rows.'),
    rejected: z
      .array(rejectedRowSchema)
      .describe(`The first ${MOST_ROWS_SHOWN} rejected rows of the file. \`GET /imports/{id}/rejected.csv\` has all.`),
    duplicates: z.array(duplicateRowSchema).describe(`The first ${MOST_ROWS_SHOWN} rows that repeat an earlier VIN.`),
  })
  .describe('The result of adding vehicles from a file.');

/** An import of the caller's company; throws ImportNotFound. */
export async function getImport(ctx: Context, input: { id: string }): Promise<Import> {
  const company = authorize(ctx, 'fleets:read');
  // From the primary, since the caller follows an import that moves on.
  const [run] = isId(input.id) ? await readImport(contextOfNewestRead(ctx), { company, id: input.id }, 'read') : [];
  if (!run) throw new ImportNotFound();
  return run;
}

export const findFirstRejections = prepare((p: RowKey) =>
  db
    .selectFrom('import_rejection')
    .select(['row', 'value', 'code', 'message'])
    .where('company', '=', p.company)
    .where('import_id', '=', p.id)
    .orderBy('row')
    .limit(MOST_ROWS_SHOWN),
);

export const rejectionColumns = ['company', 'import_id', 'row', 'value', 'code', 'message', 'cells'] as const;
/** Cursors need ids, so each row has one that is made of its number. */
const ROW_ID = `('00000000-0000-8000-8000-' || lpad(to_hex(x.row), 12, '0'))::uuid`;

export const rejectionResource: Resource = {
  table: `(select ${rejectionColumns.map((name) => `x.${name} as ${name}`)}, ${ROW_ID} as id from import_rejection x) r`,
  id: 'r.id',
  members: jsonMembersOf('import_rejection', 'r', rejectedRowSchema, { code: jsonSql.known('r.code', rejectionCodes) }),
  conditions: {},
  order: {
    columns: ['r.row'],
    placeOf: (id) => [`('x' || right(${id}::text, 8))::bit(32)::int`],
  },
  primary: true,
  missing: () => new ImportNotFound(),
};

export const importResource: Resource = {
  table: 'import n',
  ...existingFleetConditions('n'),
  id: 'n.id',
  members: jsonMembersOf('import', 'n', importSchema, {
    column: jsonSql.orNull(jsonSql.text('n.vin_column')),
    failureCode: jsonSql.orNull({
      sql: `case when n.failure_code is not null then ${jsonSql.known('n.failure_code', importFailureCodes).sql} end`,
      bare: true,
    }),
  }),
  conditions: { id: ['n.id = ?::uuid', idOrNull] },
  // Ids that callers choose say nothing of the time.
  order: {
    columns: ['n.started_at', 'n.id'],
    placeOf: (id) => [
      `(select p.started_at from import p where p.company = $company and p.id = ${id}::uuid)`,
      `${id}::uuid`,
    ],
    unindexed: true,
    lost: lostCursor('is no import that is still kept; begin with the first'),
  },
  primary: true,
  missing: () => new ImportNotFound(),
};

export const importExpressionBuilder = expressionBuilder<Tables, 'import'>();

export const importColumns = [
  ...(['import.id', 'import.company', 'import.fleet_id as fleetId'] as const),
  ...(['import.state', 'import.mode', 'import.dry_run as dryRun'] as const),
  ...(['import.received', 'import.created', 'import.existing', 'import.rejected', 'import.duplicates'] as const),
  ...(['import.file_name as fileName', 'import.sheet', 'import.vin_column as column'] as const),
  ...(['import.digest', 'import.idempotency_key as idempotencyKey', 'import.failure'] as const),
  'import.failure_code as failureCode' as const,
  isoTimeExpression(importExpressionBuilder.ref('import.started_at')).as('startedAt'),
  isoTimeExpression(importExpressionBuilder.ref('import.storing_since')).as('storingSince'),
  isoTimeExpression(importExpressionBuilder.ref('import.finished_at')).as('finishedAt'),
] as const;

export const readImport = prepare((p: RowKey) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .where('import.id', '=', p.id)
    .where('import.company', '=', p.company)
    .where(fleetExistsExpression('import', p.company)),
);
export type ImportRow = Awaited<ReturnType<typeof readImport>>[number];
