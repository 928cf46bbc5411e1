import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Fleet } from './fleet.ts';

/** One uploaded file and what became of its rows. */
export const Import = defineEntity({
  name: 'Import',
  tableName: 'import',
  properties: {
    id: p.uuid().primary(),
    company: p.text(),
    fleet: () => p.manyToOne(Fleet).ref().deleteRule('cascade'),
    state: p.text().default('RUNNING'),
    mode: p.text(),
    dryRun: p.boolean(),
    received: p.integer().default(0),
    created: p.integer().default(0),
    existing: p.integer().default(0),
    rejected: p.integer().default(0),
    /** The layout of the file, so that rejected rows can be given back in it. */
    delimiter: p.text().default(','),
    columns: p.array().nullable(),
    /** SHA-256 of the file's bytes, to tell a repeated upload from another one. */
    digest: p.text().nullable(),
    idempotencyKey: p.text().nullable(),
    /** The first rows that repeat another row's VIN, as the report shows them. */
    duplicates: p.json().default([]),
    /** Why it failed, for people. */
    failure: p.text().nullable(),
    startedAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    /** While it runs: when its process counts as gone unless it has moved this on. */
    dueAt: p.datetime().nullable(),
  },
});
export type Import = InferEntity<typeof Import>;

/**
 * Good rows of a running import, thousands at a time, waiting for the file's end. Unlogged: lost when the database
 * crashes, so that whoever stores them counts them first.
 */
export const ImportBatch = defineEntity({
  name: 'ImportBatch',
  tableName: 'import_batch',
  properties: {
    import: () => p.manyToOne(Import).ref().primary().deleteRule('cascade'),
    firstRow: p.integer().primary(),
    rows: p.array(),
    vins: p.array(),
    manufacturers: p.array(),
    supported: p.array(),
    warned: p.array(),
    /** The cells of each row, for the report on those that are refused in the end; null in a file of one column. */
    cells: p.json().nullable(),
  },
});

/** A row of an import that was refused, with its cells as they stood in the file. */
export const ImportRejection = defineEntity({
  name: 'ImportRejection',
  tableName: 'import_rejection',
  properties: {
    import: () => p.manyToOne(Import).ref().primary().deleteRule('cascade'),
    row: p.integer().primary(),
    value: p.text(),
    code: p.text(),
    message: p.text(),
    cells: p.json().nullable(),
  },
});
