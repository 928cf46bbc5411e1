import { visibleText } from '../vin.ts';
import { nameSigns } from './signs.ts';

/** Names of a VIN's column by preference, as the error for a file without one lists them. */
export const VIN_COLUMN_NAMES: readonly string[] = [
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

/** The words of one part of each list. */
const combined = (...lists: readonly (readonly string[])[]): readonly string[] =>
  lists.reduce((starts, parts) => starts.flatMap((start) => parts.map((part) => start + part)));
/** "Number of" as some languages write it: in full, shortened, or as a sign. */
const NUMBER = ['numero', 'num', 'nr', 'no', 'n'];
const NUMMER = ['nr', 'nummer'];

/** Other words, and the languages of most fleets, as bareName leaves them. */
const OTHER_NAMES: readonly string[] = [
  // English
  ...combined(['vin', 'vehicleidentification', 'vehicleid', 'chassis'], ['no', 'nr', 'number', 'code', 'n']),
  ...['vehiclevin', 'finvin', 'vinfin', 'vins'],
  // German
  ...combined(['fahrgestell', 'fahrzeugident', 'fahrzeugidentifizierungs', 'fahrzeugidentifikations'], NUMMER),
  ...combined(['fgst', 'fzident', 'fzgident', 'fin', 'vin'], NUMMER),
  // French
  ...combined([...NUMBER, 'code'], ['', 'de', 'du'], ['chassis', 'vin']),
  ...combined(NUMBER, ['didentification', 'identification'], ['duvehicule', 'vehicule']),
  // Italian
  ...['telaio', 'codicetelaio', ...combined(NUMBER, ['', 'di'], ['telaio'])],
  ...combined(NUMBER, ['di', ''], ['identificazionedelveicolo', 'identificazioneveicolo']),
  // Spanish
  ...['bastidor', 'chasis', ...combined(NUMBER, ['', 'de'], ['bastidor', 'chasis'])],
  ...combined(NUMBER, ['de', ''], ['identificaciondelvehiculo', 'identificacionvehiculo', 'identificacionvehicular']),
  // Dutch
  ...combined(['chassis', 'voertuigidentificatie', 'voertuigident'], NUMMER),
  // Polish
  ...combined(['numer', 'nr'], ['vin', 'nadwozia', 'podwozia', 'identyfikacyjnypojazdu']),
  // Czech
  ...combined(['cislo', 'c'], ['vin', 'karoserie', 'podvozku']),
  ...['vinkod', 'kodvin', 'vincislo', 'identifikacnicislovozidla'],
  // Danish, Norwegian and Swedish
  ...combined(['stel', 'understells', 'ramme', 'chassi', 'fordonsidentifierings'], [...NUMMER, 'nummer']),
  // Finnish
  ...['alustanumero', 'runkonumero', 'autonvalmistenumero', 'ajoneuvonvalmistenumero', 'vinnumero', 'vinkoodi'],
  // Portuguese
  ...['chassi', 'codigodochassi', ...combined(NUMBER, ['', 'de', 'do'], ['chassi', 'chassis', 'quadro'])],
  ...combined(NUMBER, ['deidentificacaodoveiculo', 'identificacaodoveiculo', 'identificacaoveiculo']),
  // Hungarian
  ...['alvazszam', 'jarmuazonositoszam', 'jarmualvazszama'],
  // Romanian
  ...combined(
    ['serie', 'seria', 'seriede', 'numar', 'numarul', 'numarde', 'nr', 'nrde'],
    ['sasiu', 'sasiului', 'caroserie', 'vin'],
  ),
  ...combined(
    ['numar', 'numarul', 'nr'],
    ['de', ''],
    ['identificarevehicul', 'identificareavehiculului', 'identificarealvehiculului'],
  ),
];

/** A vehicle's equipment has numbers of its maker, too, and `niv` may be a level: the rows below have to confirm these names. */
const AMBIGUOUS_NAMES: readonly string[] = [
  ...['valmistenumero', 'jarmuazonosito'],
  ...['niv', ...combined(NUMBER, ['', 'de', 'du'], ['niv'])],
  ...combined(NUMBER, ['', 'de'], ['serieduvehicule', 'serievehicule', 'serieduchassis', 'seriedelvehiculo', 'serie']),
];

/** A name without what does not count: case, accents, spaces, and signs of every kind. */
const bareName = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const { SEVERAL, KNOWN_FIRST, AMBIGUOUS, WORD, KNOWN_LATER } = nameSigns;

const preferences = new Map([
  ...AMBIGUOUS_NAMES.map((name, at): [string, number] => [name, AMBIGUOUS.weight + at]),
  // The first place of a name counts.
  ...[...VIN_COLUMN_NAMES, ...OTHER_NAMES].map((name, at): [string, number] => [bareName(name), at]).reverse(),
]);

const LONGEST_NAME = 80;
/** Signs between the parts of a name, without `,`, `;` and `|`, which separate the cells of files. */
const BETWEEN_PARTS = /[/\\()[\]{}:+&\n]|\s[-–—]\s/;
/** The length of a VIN in a name says nothing, nor does what follows it: `VIN (17)`, `FIN 17-stellig`. */
const LENGTH = '17';

/** The weights of a header's names (`nameSigns`), each with its place in the lists. */
export function vinNameWeights(names: readonly string[]): number[] {
  const all = names.map(vinNameWeight);
  const [only, ...others] = names.flatMap((name, at) => (hasVinWord(name) ? [at] : []));
  if (only !== undefined && others.length === 0) all[only] = Math.min(all[only] ?? 0, WORD.weight);
  return all;
}

const CHANGE_OF_CASE = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/gu;

/** `asset.vin`, `VIN_2`, `vehicleVin` and `VINCode`, not `Vincent`. */
const hasVinWord = (name: string): boolean =>
  name.length <= LONGEST_NAME &&
  visibleText(name)
    .replace(CHANGE_OF_CASE, ' ')
    .split(/[^\p{L}]+/u)
    .some((word) => /^vins?$/i.test(word));

/** The weight of a name, or of its parts; infinite for none. */
function vinNameWeight(name: string): number {
  if (name.length > LONGEST_NAME) return Number.POSITIVE_INFINITY;
  const whole = preferences.get(bareName(name));
  if (whole !== undefined) return whole;
  const parts = name.split(BETWEEN_PARTS).map((part) => bareName(part).split(LENGTH, 1)[0]);
  const known = parts.flatMap((part) => (part ? [preferences.get(part) ?? Number.POSITIVE_INFINITY] : []));
  const best = Math.min(...known);
  if (known.every(Number.isFinite)) return known.length > 1 ? best + SEVERAL.weight : best;
  return best + (known[0] === best ? KNOWN_FIRST : KNOWN_LATER).weight;
}
