import { readVin, visibleText } from '../vin.ts';

/** Every VIN holds a digit, and headings rarely do: a wrong VIN in the first row, or a failed formula, is no heading. */
export const isMeantAsVin = (cell: string): boolean => /\d/.test(visibleText(cell)) || isFormulaError(cell);

export function isFormulaError(cell: string): boolean {
  const reading = readVin(stripTextMarks(cell));
  return 'code' in reading && reading.code === 'VIN_FORMULA_ERROR';
}

/** A VIN in one word: a title of several could be one by chance. */
export function isVin(cell: string): boolean {
  const text = stripTextMarks(visibleText(cell));
  return isMeantAsVin(text) && !/\s/.test(text) && 'vin' in readVin(text);
}

/** A VIN in several words, what a spreadsheet has made of one, or a word that is nearly one. */
export function isNearlyVin(cell: string): boolean {
  const text = stripTextMarks(visibleText(cell));
  if (!isMeantAsVin(text)) return false;
  const reading = readVin(text);
  return 'vin' in reading || reading.code === 'VIN_SPREADSHEET_DAMAGE' || NEARLY_VIN.test(text);
}
const NEARLY_VIN = /^(?=[\d-]*[a-z])[a-z\d-]{14,20}$/i;

const [ZERO, EQUALS, DELETE] = [0x30, 0x3d, 0x7f];

/** A cell freed from what spreadsheets and our own rejected.csv put around text: `'WVW…` and `="WVW…"`. */
export function stripTextMarks(cell: string): string {
  const first = cell.charCodeAt(0);
  if (first >= ZERO && first !== EQUALS && first < DELETE) return cell;
  // What nobody sees may stand around the marks.
  const marked = cell.replace(/^[\p{Cc}\p{Cf}]+(?=['=])/u, '');
  const text = marked.startsWith("'") ? marked.slice(1) : marked;
  return text.startsWith('="') ? text.replace(/^="(.*)"[\p{Cc}\p{Cf}]*$/su, '$1') : text;
}
