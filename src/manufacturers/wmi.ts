import type { BrandId } from './brands.ts';

/** Public lists the rows were taken from. */
const sources = {
  wikibooks: 'Wikibooks: Vehicle Identification Numbers, list of WMIs',
  vpic: 'NHTSA vPIC',
  vininfo: 'vininfo, dicts/wmi.py',
} as const;

/** One World Manufacturer Identifier (ISO 3780) and the brands it may stand for, the likeliest first. */
export interface WmiRow {
  /** Three characters; for makers of small series, whose third is 9, followed by the VIN's characters 12–14. */
  wmi: string;
  brands: readonly BrandId[];
  source: string;
}

function row(wmi: string, source: keyof typeof sources, ...brands: BrandId[]): WmiRow {
  return { wmi, brands, source: sources[source] };
}

export const wmiTable: readonly WmiRow[] = [
  // Stellantis
  row('VF3', 'wikibooks', 'peugeot'),
  row('VR3', 'wikibooks', 'peugeot'),
  row('VS8', 'wikibooks', 'peugeot'),
  row('VF7', 'wikibooks', 'citroen', 'ds'),
  row('VR7', 'wikibooks', 'citroen'),
  row('VS7', 'wikibooks', 'citroen'),
  row('VR1', 'wikibooks', 'ds'),
  row('W0L', 'wikibooks', 'opel', 'vauxhall'),
  row('W0V', 'wikibooks', 'opel', 'vauxhall'),
  row('VXE', 'wikibooks', 'opel', 'vauxhall'),
  row('VXK', 'wikibooks', 'opel', 'vauxhall'),
  row('VSX', 'wikibooks', 'opel'),
  row('ZFA', 'wikibooks', 'fiat'),
  row('ZFB', 'wikibooks', 'fiat'),
  row('VXF', 'wikibooks', 'fiat'),
  row('3C3', 'vininfo', 'fiat'),
  row('3C4', 'vpic', 'fiat', 'jeep'),
  row('ZAR', 'wikibooks', 'alfaromeo'),
  row('ZAS', 'wikibooks', 'alfaromeo'),
  row('ZAC', 'wikibooks', 'jeep'),
  row('988', 'wikibooks', 'jeep', 'fiat'),
  row('1C4', 'vpic', 'jeep'),
  row('1J4', 'vpic', 'jeep'),
  row('ZAM', 'wikibooks', 'maserati'),
  row('ZN6', 'wikibooks', 'maserati'),
  // Renault, Nissan
  row('VF1', 'wikibooks', 'renault', 'dacia'),
  row('VN1', 'wikibooks', 'renault'),
  row('VS5', 'wikibooks', 'renault'),
  row('UU1', 'wikibooks', 'dacia', 'renault'),
  row('VFA', 'wikibooks', 'alpine'),
  row('SJN', 'wikibooks', 'nissan'),
  row('VSK', 'wikibooks', 'nissan'),
  row('VNV', 'wikibooks', 'nissan'),
  row('JN1', 'vpic', 'nissan'),
  row('JN8', 'vpic', 'nissan'),
  row('1N4', 'vpic', 'nissan'),
  row('3N1', 'vpic', 'nissan'),
  row('5N1', 'vpic', 'nissan'),
  // Mercedes-Benz, smart
  row('WDB', 'wikibooks', 'mercedes-benz'),
  row('WDC', 'wikibooks', 'mercedes-benz'),
  row('WDD', 'wikibooks', 'mercedes-benz'),
  row('WDF', 'wikibooks', 'mercedes-benz'),
  row('WMX', 'wikibooks', 'mercedes-benz'),
  row('W1K', 'wikibooks', 'mercedes-benz'),
  row('W1N', 'wikibooks', 'mercedes-benz'),
  row('W1V', 'wikibooks', 'mercedes-benz'),
  row('VSA', 'vininfo', 'mercedes-benz'),
  row('4JG', 'vpic', 'mercedes-benz'),
  row('55S', 'vpic', 'mercedes-benz'),
  row('WME', 'wikibooks', 'smart'),
  row('W1A', 'wikibooks', 'smart'),
  // BMW
  row('WBA', 'wikibooks', 'bmw'),
  row('WBS', 'wikibooks', 'bmw'),
  row('WBX', 'wikibooks', 'bmw'),
  row('WBY', 'wikibooks', 'bmw'),
  row('WB5', 'wikibooks', 'bmw'),
  row('4US', 'vpic', 'bmw'),
  row('5UX', 'vpic', 'bmw'),
  row('5YM', 'vpic', 'bmw'),
  row('3MW', 'vpic', 'bmw'),
  row('WMW', 'wikibooks', 'mini'),
  row('WMZ', 'wikibooks', 'mini'),
  // Volkswagen
  row('WVW', 'wikibooks', 'volkswagen'),
  row('WVG', 'wikibooks', 'volkswagen'),
  row('WV1', 'wikibooks', 'volkswagen'),
  row('WV2', 'wikibooks', 'volkswagen'),
  row('1VW', 'vpic', 'volkswagen'),
  row('1V2', 'vpic', 'volkswagen'),
  row('3VW', 'vpic', 'volkswagen'),
  row('WAU', 'wikibooks', 'audi'),
  row('WA1', 'vininfo', 'audi'),
  row('WUA', 'wikibooks', 'audi'),
  row('WU1', 'wikibooks', 'audi'),
  row('TRU', 'wikibooks', 'audi'),
  row('TMB', 'wikibooks', 'skoda'),
  row('VSS', 'wikibooks', 'seat', 'cupra'),
  row('WP0', 'wikibooks', 'porsche'),
  row('WP1', 'wikibooks', 'porsche'),
  // Ford
  row('WF0', 'wikibooks', 'ford'),
  row('VS6', 'wikibooks', 'ford'),
  row('NM0', 'wikibooks', 'ford'),
  row('SFA', 'wikibooks', 'ford'),
  row('1FA', 'vpic', 'ford'),
  row('1FM', 'vpic', 'ford'),
  row('1FT', 'vpic', 'ford'),
  row('3FA', 'vpic', 'ford'),
  // Toyota
  row('JTD', 'wikibooks', 'toyota'),
  row('JTE', 'wikibooks', 'toyota'),
  row('JTM', 'wikibooks', 'toyota'),
  row('JTN', 'wikibooks', 'toyota'),
  row('NMT', 'wikibooks', 'toyota'),
  row('SB1', 'wikibooks', 'toyota'),
  row('VNK', 'wikibooks', 'toyota'),
  row('YAR', 'wikibooks', 'toyota'),
  row('4T1', 'vpic', 'toyota'),
  row('2T1', 'vpic', 'toyota'),
  row('2T3', 'vpic', 'toyota'),
  row('5TD', 'vpic', 'toyota'),
  row('JTH', 'wikibooks', 'lexus'),
  row('JTJ', 'wikibooks', 'lexus'),
  row('2T2', 'vpic', 'lexus'),
  row('58A', 'vpic', 'lexus'),
  // Hyundai, Kia
  row('KMH', 'wikibooks', 'hyundai'),
  row('KM8', 'wikibooks', 'hyundai'),
  row('NLH', 'wikibooks', 'hyundai'),
  row('TMA', 'wikibooks', 'hyundai'),
  row('5NP', 'vpic', 'hyundai'),
  row('KNA', 'wikibooks', 'kia'),
  row('KND', 'wikibooks', 'kia'),
  row('U5Y', 'wikibooks', 'kia'),
  row('U6Y', 'wikibooks', 'kia'),
  row('5XY', 'vpic', 'kia', 'hyundai'),
  // Volvo, Polestar
  row('YV1', 'wikibooks', 'volvo-cars'),
  row('YV4', 'wikibooks', 'volvo-cars'),
  row('LYV', 'wikibooks', 'volvo-cars'),
  row('LVY', 'wikibooks', 'volvo-cars'),
  row('7JR', 'vpic', 'volvo-cars'),
  row('YSM', 'wikibooks', 'polestar'),
  row('LPS', 'wikibooks', 'polestar'),
  // Honda, Mazda
  row('JHM', 'wikibooks', 'honda'),
  row('SHH', 'wikibooks', 'honda'),
  row('1HG', 'vpic', 'honda'),
  row('JMZ', 'wikibooks', 'mazda'),
  row('JM1', 'vpic', 'mazda'),
  row('JM3', 'vpic', 'mazda'),
  // Jaguar, Land Rover
  row('SAJ', 'wikibooks', 'jaguar'),
  row('SAD', 'vininfo', 'jaguar'),
  row('SAL', 'wikibooks', 'land-rover'),
  // Tesla
  row('5YJ', 'vpic', 'tesla'),
  row('7SA', 'vpic', 'tesla'),
  row('LRW', 'wikibooks', 'tesla'),
  row('XP7', 'wikibooks', 'tesla'),
  // Small series
  row('ZFF', 'wikibooks', 'ferrari'),
  row('YT9007', 'vpic', 'koenigsegg'),
];

const byWmi = new Map(wmiTable.map(({ wmi, brands }) => [wmi, brands]));

/** The brands a VIN may be of, the likeliest first; empty when the maker is unknown. The VIN must be normalised already. */
export function candidateBrands(vin: string): readonly BrandId[] {
  const wmi = vin[2] === '9' ? vin.slice(0, 3) + vin.slice(11, 14) : vin.slice(0, 3);
  return byWmi.get(wmi) ?? [];
}
