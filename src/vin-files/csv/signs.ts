// The guesses about a file, as tables: what is seen, its weight, and an example that a test reads.

/**
 * What in a name shows that its column holds VINs. The lightest sign counts, of equal ones the name that is earlier in its list. `sure`: the
 * column is taken whatever is below it; otherwise a row below has to hold a VIN, or nothing else in the file does.
 */
export const nameSigns = {
  /** A name of the lists. */
  KNOWN: { weight: 0, sure: true, example: 'Fahrgestellnummer' },
  /** Several of them, and nothing else. */
  SEVERAL: { weight: 0.5, sure: true, example: 'VIN / FIN' },
  /** One of them, then something else. */
  KNOWN_FIRST: { weight: 1000, sure: false, example: 'VIN (as delivered)' },
  /** A name that equipment has, too. */
  AMBIGUOUS: { weight: 1500, sure: false, example: 'Numéro de série' },
  /** The only name with the word VIN in it. */
  WORD: { weight: 1900, sure: false, example: 'asset.vin' },
  /** Something else, then a name of the lists. */
  KNOWN_LATER: { weight: 2000, sure: false, example: 'Vehicle (FIN)' },
} as const;

export const isSure = (weight: number): boolean => weight < nameSigns.KNOWN_FIRST.weight;

/** Why a table may be none of VINs. Of the sheets of a workbook, the one with the lightest doubt is read. */
export const doubts = {
  /** VINs are below a name for them, or below none. */
  NONE: { weight: 0, example: 'VIN\nWVWZZZ1KZAW000001\n' },
  /** VINs are below an unknown name. */
  UNKNOWN_NAME: { weight: 1, example: 'Car;Colour\nWVWZZZ1KZAW000001;red\n' },
  /** No cell is a VIN, but some look like wrong ones. */
  WRONG_VINS: { weight: 2, example: 'WVWZZZ1KZAW00001\n' },
  /** A single column with digits: any other sheet comes first. */
  DIGITS: { weight: 3, example: '4711\n' },
} as const;

/** What makes a row the header of an unknown column: the heaviest row counts, of equal ones the last. */
export const headerSigns = {
  /** Each cell with a text: titles have fewer. */
  FILLED_CELL: { weight: 1, example: 'Fleet North\nCar;Colour\nWVWZZZ1KZAW000001;red\n' },
  /** No cell has a digit: rows of data do. */
  NO_DIGITS: { weight: 0.5, example: `Car;Colour\nTest car;4711\n${'WVWZZZ1KZAW000001;red\n'.repeat(4)}` },
} as const;
