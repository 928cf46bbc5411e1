/**
 * Rows are read from the index that has their order: the statistics would have PostgreSQL expect a few rows, and read and sort a
 * whole list for each page (docs/decisions/lists.md).
 */
export const READ_IN_ORDER = ['enable_sort=off', 'enable_incremental_sort=off', 'enable_seqscan=off'];
