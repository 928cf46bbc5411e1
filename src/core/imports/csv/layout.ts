import { readVin } from '../../vin.ts';
import { type Delimiter, Head, type Line, type Reading, type Rest } from './head.ts';
import { type CsvLimits, unreadableFile, unreadableRow } from './limits.ts';

/** Names of a VIN's column by preference, as they are told to those whose file has none of them. */
const VIN_COLUMNS: readonly string[] = [
  'vin',
  'vin_number',
  'vehicle_identification_number',
  'vehicle_id_number',
  'fin',
  'fahrgestellnummer',
  'fahrzeug_ident_nr',
  'numéro_de_châssis',
  'numero_di_telaio',
  'número_de_bastidor',
  'chassisnummer',
  'chassis_number',
  'chassis',
];

/** How people in some countries say "number of": in full, shortened, or as a sign. */
const numberOf = (parts: readonly string[], things: readonly string[]): string[] =>
  ['numero', 'num', 'nr', 'no', 'n'].flatMap((number) =>
    parts.flatMap((part) => things.map((thing) => number + part + thing)),
  );
const numbered = (things: readonly string[], endings: readonly string[]): string[] =>
  things.flatMap((thing) => endings.map((ending) => thing + ending));

/** Other words, and the languages of most fleets, as bareName leaves them. */
const OTHER_NAMES: readonly string[] = [
  // English
  ...numbered(['vin', 'vehicleidentification', 'vehicleid', 'chassis'], ['no', 'nr', 'number', 'code']),
  ...['vehiclevin', 'finvin', 'vinfin', 'vincode'],
  // German
  ...numbered(
    ['fahrgestell', 'fahrzeugident', 'fahrzeugidentifizierungs', 'fahrzeugidentifikations'],
    ['nr', 'nummer'],
  ),
  ...numbered(['fgst', 'fzident', 'fzgident', 'fin', 'vin'], ['nr', 'nummer']),
  // French
  ...numberOf(['', 'de', 'du'], ['chassis', 'vin', 'serieduvehicule']),
  ...numberOf(['didentification', 'identification'], ['duvehicule', 'vehicule']),
  // Italian
  ...['telaio', 'codicetelaio', ...numberOf(['', 'di'], ['telaio'])],
  ...numberOf(['di', ''], ['identificazionedelveicolo', 'identificazioneveicolo']),
  // Spanish
  ...['bastidor', 'chasis', ...numberOf(['', 'de'], ['bastidor', 'chasis'])],
  ...numberOf(['de', ''], ['identificaciondelvehiculo', 'identificacionvehiculo']),
  // Dutch
  ...numbered(['chassis', 'voertuigidentificatie', 'voertuigident'], ['nr', 'nummer']),
];

/** A name without what does not count: case, accents, spaces, and signs of every kind. */
const bareName = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const preferences = new Map(
  // The first place of a name counts.
  [...VIN_COLUMNS, ...OTHER_NAMES].map((name, at): [string, number] => [bareName(name), at]).reverse(),
);

const LONGEST_NAME = 80;

/** How well a column's name says that it holds VINs: the less the better; infinite where it does not. */
const vinNamePreference = (name: string): number =>
  name.length > LONGEST_NAME ? Number.POSITIVE_INFINITY : (preferences.get(bareName(name)) ?? Number.POSITIVE_INFINITY);

export interface CsvLayout {
  /** The header's cells as in the file; null without a header, but for a file whose VIN is not first: made up, then. */
  columns: string[] | null;
  delimiter: Delimiter;
}

export interface Start extends Rest {
  layout: CsvLayout;
  vinAt: number;
}

/** Titles and whatever else people put above a table end within so many rows. */
const HEADER_WITHIN = 20;

/**
 * Reads as many of the first rows as tell the delimiter, the header and the VIN's column. The header is the first row that
 * has one of the names; what stands above it is no data. Without one, the first VIN shows the column, and every row is data.
 * Throws ValidationFailed where neither is found.
 */
export async function readStart(
  pieces: AsyncIterator<string, void>,
  limits: CsvLimits,
  delimiter?: Delimiter,
): Promise<Start> {
  const head = new Head(pieces, limits, delimiter);
  const above: Line[] = [];
  for (let line = await head.next(); line; line = await head.next()) {
    const header = find(line, vinColumn);
    if (header) {
      const { cells: columns, delimiter, vinAt } = narrow(header, line, limits);
      return { layout: { columns, delimiter }, vinAt, ...head.after(line) };
    }
    above.push(line);
    const data = find(line, (cells) => cells.findIndex(isVin));
    if (data) return withoutHeader(head, above, narrow(data, line, limits));
    if (above.length === HEADER_WITHIN) break;
  }
  const [first] = above;
  if (!first) throw unreadableFile('NO_ROWS', 'The file holds no rows.');
  return withoutHeader(head, above, narrow(wrongVins(above, first), first, limits));
}

interface Found extends Reading {
  vinAt: number;
}

/** The reading of a row in which `place` finds a column: the leftmost, and of such the one with most cells. */
function find({ readings }: Line, place: (cells: readonly string[]) => number): Found | undefined {
  let best: Found | undefined;
  for (const reading of readings) {
    const vinAt = place(reading.cells);
    if (vinAt === -1 || (best && vinAt > best.vinAt)) continue;
    if (best && vinAt === best.vinAt && reading.cells.length <= best.cells.length) continue;
    best = { ...reading, vinAt };
  }
  return best;
}

function narrow(found: Found, { row }: Line, limits: CsvLimits): Found {
  if (found.cells.length > limits.columns) throw unreadableRow(row, 'TOO_MANY_COLUMNS', limits.columns);
  return found;
}

/** Rows without a single VIN: a list of wrong ones, which is reported row by row, or no list of VINs at all. */
function wrongVins(lines: readonly Line[], first: Line): Found {
  for (const line of lines) {
    const found = find(line, (cells) => cells.findIndex(isNearlyVin));
    if (found) return found;
  }
  const readings = lines.flatMap((line) => line.readings);
  const alone = readings.every(({ cells }) => cells.length <= 1);
  const found = alone && find(first, ([cell = '']) => (isMeantAsVin(cell) ? 0 : -1));
  if (found) return found;
  throw noVinColumn(readings.reduce((widest, one) => (one.cells.length > widest.cells.length ? one : widest)).cells);
}

/** Rows above the first VIN are bad ones, unless one of them calls the column by a name that is not known. */
function withoutHeader(head: Head, above: readonly Line[], { cells, delimiter, vinAt }: Found): Start {
  for (const { readings } of above) {
    const row = readings.find((reading) => reading.delimiter === delimiter)?.cells ?? [];
    const cell = row[vinAt] ?? '';
    if (cell.trim() !== '' && !isMeantAsVin(cell)) throw noVinColumn(row);
  }
  const columns = vinAt === 0 ? null : numberedColumns(cells.length, vinAt);
  return { layout: { columns, delimiter }, vinAt, ...head.from(above[0] as Line) };
}

export const numberedColumns = (count: number, vinAt = 0): string[] =>
  Array.from({ length: count }, (_, at) => (at === vinAt ? 'vin' : `column_${at + 1}`));

function vinColumn(cells: readonly string[]): number {
  const preferences = cells.map((cell) => vinNamePreference(unmarked(cell)));
  const best = Math.min(...preferences);
  return Number.isFinite(best) ? preferences.indexOf(best) : -1;
}

/**
 * Header or data? Every VIN holds a digit, and headings rarely do. So a bad VIN in the first row of a file without a header
 * is reported as a bad row.
 */
function isMeantAsVin(cell: string): boolean {
  return /\d/.test(cell);
}

/** A VIN in one word: a title of several could be one by chance. */
function isVin(cell: string): boolean {
  const text = unmarked(cell.trim());
  return isMeantAsVin(text) && !/\s/.test(text) && 'vin' in readVin(text);
}

/** A VIN in several words, what a spreadsheet has made of one, or a word that is nearly one. */
function isNearlyVin(cell: string): boolean {
  const text = unmarked(cell.trim());
  if (!isMeantAsVin(text)) return false;
  const reading = readVin(text);
  return 'vin' in reading || reading.code === 'VIN_SPREADSHEET_DAMAGE' || NEARLY_VIN.test(text);
}
const NEARLY_VIN = /^(?=[\d-]*[a-z])[a-z\d-]{14,20}$/i;

function noVinColumn(cells: readonly string[]): Error {
  const shown = cells.slice(0, 20).map((cell) => `"${cell.slice(0, 40)}"`);
  if (cells.length > shown.length) shown.push(`and ${cells.length - shown.length} more`);
  const message = `No column of the file holds VINs. Found: ${shown.join(', ')}. Name the column ${VIN_COLUMNS.join(', ')}; or send VINs and no header.`;
  return unreadableFile('VIN_COLUMN_MISSING', message, { found: cells.slice(0, 20), accepted: VIN_COLUMNS });
}

/** A cell freed from what spreadsheets and our own rejected.csv put around text: `'WVW…` and `="WVW…"`. */
export function unmarked(cell: string): string {
  const text = cell.startsWith("'") ? cell.slice(1) : cell;
  return text.startsWith('="') && text.endsWith('"') ? text.slice(2, -1) : text;
}
