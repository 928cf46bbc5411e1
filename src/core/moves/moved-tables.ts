import { entities } from '../../entities/index.ts';

/** Tables with rows of companies that stay: what is known of the place itself, and what a running upload has staged (unlogged). */
const staying = ['placement', 'schedule', 'import_batch'];

const ofCompanies = entities.flatMap(({ meta: { tableName, properties } }) =>
  'company' in properties ? [tableName] : [],
);

/** The tables whose rows go with a company, parents before children. */
export const movedTables: readonly string[] = ofCompanies.filter((name) => !staying.includes(name));

/** The tables whose rows are deleted where the company was, children before parents. */
export const clearedTables: readonly string[] = ofCompanies.filter((name) => name !== 'placement').toReversed();
