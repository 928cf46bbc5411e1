/** A count that is not kept stops there: whoever asks for it waits for each row. */
export const COUNTED_MOST = 100_000;
/** Items of a page that is asked for without a size. */
export const PAGE_DEFAULT = 50;
/** Items that a page holds at most. */
export const PAGE_MAX = 1000;

const PLANNED = [10, 100, PAGE_MAX];
/** What a statement for pages of this size is planned for: to sort all rows may be worth it for 1,000 of them, and not for one. */
export const plannedFor = (limit: number): number => PLANNED.find((size) => limit <= size) ?? PAGE_MAX;
