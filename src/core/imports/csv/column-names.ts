/** What a VIN's column is called, by preference, as it is told to those whose file has none of these. */
export const VIN_COLUMNS: readonly string[] = [
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

/** The same in other words, and in the languages of most fleets, as bareName leaves them. */
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

/** Longer than any of the names; titles can be of any length. */
const LONGEST_NAME = 80;

/** How well a column's name says that it holds VINs: the less the better; infinite where it does not. */
export const vinNamePreference = (name: string): number =>
  name.length > LONGEST_NAME ? Number.POSITIVE_INFINITY : (preferences.get(bareName(name)) ?? Number.POSITIVE_INFINITY);
