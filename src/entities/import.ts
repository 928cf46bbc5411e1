import { defineEntity, p } from '@mikro-orm/core';
import { belongsTo, booleans, integers, json, texts, time } from './columns.ts';
import { Fleet } from './fleet.ts';

export const importStates = ['RUNNING', 'STORING', 'COMPLETED', 'FAILED'] as const;
export const addModes = ['partial', 'atomic'] as const;

export const Import = defineEntity({
  name: 'Import',
  tableName: 'import',
  uniques: [{ name: 'import_idempotency_key', properties: ['company', 'idempotencyKey'] }],
  indexes: [
    { name: 'import_by_fleet', properties: ['company', 'fleetId', 'id'] },
    { name: 'import_due', properties: ['dueAt'], where: 'due_at IS NOT NULL' },
    { name: 'import_finished', properties: ['finishedAt'], where: 'finished_at IS NOT NULL' },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid().persist(false),
    fleet: () => belongsTo(Fleet, 'fleet_id'),
    state: p.enum(importStates).default('RUNNING'),
    mode: p.enum(addModes),
    dryRun: p.boolean(),
    received: p.integer().default(0),
    created: p.integer().default(0),
    existing: p.integer().default(0),
    rejected: p.integer().default(0),
    /** The layout of the file, so that rejected rows can be given back in it. */
    delimiter: p.text().default(','),
    columns: texts().nullable(),
    /** The file's name as the client sent it, without its path. */
    fileName: p.text().nullable(),
    /** The name of a workbook's sheet that was read. */
    sheet: p.text().nullable(),
    /** The header's name of the column that was read. */
    vinColumn: p.text().nullable(),
    /** SHA-256 of the file's bytes: a repeated upload has the same. */
    digest: p.text().nullable(),
    idempotencyKey: p.text().nullable(),
    /** The first rows that repeat another row's VIN, as the report shows them. */
    duplicates: json<{ row: number; firstRow: number; value: string }[]>().defaultRaw(`'[]'`),
    failure: p.text().nullable(),
    failureCode: p.text().nullable(),
    startedAt: time(),
    finishedAt: time().nullable(),
    /** While it runs: the time at which its process counts as dead unless it renews this. */
    dueAt: time().nullable(),
    storingSince: time().nullable(),
    /** Room for its rows in import_batch, taken in steps. */
    stagedBytes: p.bigint('number').defaultRaw('0'),
  },
});

const ofImport = () => p.manyToOne(Import).ref().primary().joinColumns('company', 'import_id');

/** Good rows of a running import. Unlogged: a crash loses them, so they are counted before they are stored. */
export const ImportBatch = defineEntity({
  name: 'ImportBatch',
  tableName: 'import_batch',
  properties: {
    company: p.text().persist(false),
    importId: p.uuid().persist(false),
    // No foreign key: forgetUnowned (core/imports/import-run.ts) deletes batches without a running import.
    import: () => ofImport().createForeignKeyConstraint(false),
    firstRow: p.integer().primary(),
    rows: integers(),
    vins: texts(),
    manufacturers: texts<string | null>(),
    supported: booleans(),
    /** The warnings of each row, by vinWarningsText. */
    warnings: texts().nullable(),
    /** The cells of each row, for the report on those that are rejected in the end; null in a file of one column. */
    cells: json<string[][]>().columnType('json').nullable(),
  },
});

/** A row of an import that was rejected, with its cells as they stood in the file. */
export const ImportRejection = defineEntity({
  name: 'ImportRejection',
  tableName: 'import_rejection',
  properties: {
    company: p.text().persist(false),
    importId: p.uuid().persist(false),
    import: () => ofImport().deleteRule('cascade').updateRule('no action'),
    row: p.integer().primary(),
    value: p.text(),
    code: p.text(),
    message: p.text(),
    cells: json<string[]>().nullable(),
  },
});
