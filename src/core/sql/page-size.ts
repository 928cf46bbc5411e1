/** A count that is not kept stops there: whoever asks for it waits for each row. */
export const COUNTED_MOST = 100_000;
/** Items of a page that is asked for without a size. */
export const PAGE_DEFAULT = 50;
/** Items that a page holds at most. */
export const PAGE_MAX = 1000;
