/** A number with its noun: `1 vehicle`, `2 vehicles`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
