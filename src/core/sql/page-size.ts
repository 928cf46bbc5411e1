/** Counting stops here where no count is stored. */
export const COUNTED_MOST = 100_000;
export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 1000;

const PLANNED = [10, 100, PAGE_MAX];
/** The size that a page's statement is planned for: sorting all rows can pay for 1,000 rows, but not for one. */
export const plannedFor = (limit: number): number => PLANNED.find((size) => limit <= size) ?? PAGE_MAX;
