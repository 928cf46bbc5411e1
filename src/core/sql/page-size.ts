/** Items of a page that is asked for without a size. */
export const PAGE_DEFAULT = 50;
/** Items that a page holds at most. */
export const PAGE_MAX = 1000;
