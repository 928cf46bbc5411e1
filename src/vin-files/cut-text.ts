/** The first characters of a text, at most `most` UTF-16 code units; a surrogate pair at the cut is left out. */
export const cutText = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
