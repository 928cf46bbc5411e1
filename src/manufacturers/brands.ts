/** The brands that VINs name: slug → name. The slugs are wire names and, for brands that it serves, High Mobility's. */
export const brands = {
  alfaromeo: 'Alfa Romeo',
  alpine: 'Alpine',
  audi: 'Audi',
  bmw: 'BMW',
  citroen: 'Citroën',
  cupra: 'Cupra',
  dacia: 'Dacia',
  ds: 'DS Automobiles',
  ferrari: 'Ferrari',
  fiat: 'Fiat',
  ford: 'Ford',
  honda: 'Honda',
  hyundai: 'Hyundai',
  jaguar: 'Jaguar',
  jeep: 'Jeep',
  kia: 'Kia',
  koenigsegg: 'Koenigsegg',
  'land-rover': 'Land Rover',
  lexus: 'Lexus',
  maserati: 'Maserati',
  mazda: 'Mazda',
  'mercedes-benz': 'Mercedes-Benz',
  mini: 'MINI',
  nissan: 'Nissan',
  opel: 'Opel',
  peugeot: 'Peugeot',
  polestar: 'Polestar',
  porsche: 'Porsche',
  renault: 'Renault',
  seat: 'SEAT',
  skoda: 'Škoda',
  smart: 'smart',
  tesla: 'Tesla',
  toyota: 'Toyota',
  vauxhall: 'Vauxhall',
  volkswagen: 'Volkswagen',
  'volvo-cars': 'Volvo Cars',
} as const;

export type BrandId = keyof typeof brands;

export const brandIds = Object.keys(brands) as [BrandId, ...BrandId[]];

export const highMobilityEligibilityBrands = [
  ...(['alfaromeo', 'bmw', 'citroen', 'ds', 'fiat', 'ford', 'jeep', 'lexus'] as const),
  ...(['mercedes-benz', 'mini', 'opel', 'peugeot', 'renault', 'toyota', 'vauxhall', 'volvo-cars'] as const),
] as const satisfies readonly BrandId[];

/** The brands of `FleetVehicle` in High Mobility's Fleet Clearance API, which has more than the eligibility check. */
export const clearanceBrands = [
  ...(['alfaromeo', 'audi', 'bmw', 'citroen', 'cupra', 'dacia', 'ds', 'fiat', 'ford', 'jeep', 'kia', 'lexus'] as const),
  ...(['maserati', 'mercedes-benz', 'mini', 'opel', 'peugeot', 'polestar', 'porsche', 'renault', 'seat'] as const),
  ...(['skoda', 'tesla', 'toyota', 'vauxhall', 'volkswagen', 'volvo-cars'] as const),
] as const satisfies readonly BrandId[];

/** The brand by which High Mobility's eligibility check knows vehicles of a brand that it does not name. */
const eligibilityNames: Partial<Record<BrandId, BrandId>> = { dacia: 'renault' };

/** The brand by which High Mobility is asked about the eligibility of vehicles of a brand. */
export const eligibilityName = (id: string): string => eligibilityNames[id as BrandId] ?? id;

export const brandName = (id = ''): string => brands[id as BrandId] ?? id;

/** Public lists the rows were taken from. */
const sources = {
  wikibooks: 'Wikibooks: Vehicle Identification Numbers, list of WMIs',
  vpic: 'NHTSA vPIC',
  vininfo: 'vininfo, dicts/wmi.py',
} as const;

/** A World Manufacturer Identifier (ISO 3780) and the brands it may mean, the likeliest first. */
interface WmiRow {
  /** Three characters; for makers of small series, whose third is 9, followed by the VIN's characters 12–14. */
  wmi: string;
  brands: readonly BrandId[];
  source: string;
}

const rows = (source: keyof typeof sources, wmis: string, ...brands: BrandId[]): WmiRow[] =>
  wmis.split(' ').map((wmi) => ({ wmi, brands, source: sources[source] }));

export const wmiTable: readonly WmiRow[] = [
  ...rows('wikibooks', 'VF3 VR3 VS8', 'peugeot'),
  ...rows('wikibooks', 'VF7', 'citroen', 'ds'),
  ...rows('wikibooks', 'VR7 VS7', 'citroen'),
  ...rows('wikibooks', 'VR1', 'ds'),
  ...rows('wikibooks', 'W0L W0V VXE VXK', 'opel', 'vauxhall'),
  ...rows('wikibooks', 'VSX', 'opel'),
  ...rows('wikibooks', 'ZFA ZFB VXF', 'fiat'),
  ...rows('vininfo', '3C3', 'fiat'),
  ...rows('vpic', '3C4', 'fiat', 'jeep'),
  ...rows('wikibooks', 'ZAR ZAS', 'alfaromeo'),
  ...rows('wikibooks', 'ZAC', 'jeep'),
  ...rows('wikibooks', '988', 'jeep', 'fiat'),
  ...rows('vpic', '1C4 1J4', 'jeep'),
  ...rows('wikibooks', 'ZAM ZN6', 'maserati'),
  ...rows('wikibooks', 'VF1', 'renault', 'dacia'),
  ...rows('wikibooks', 'VN1 VS5', 'renault'),
  ...rows('wikibooks', 'UU1', 'dacia'),
  ...rows('wikibooks', 'VFA', 'alpine'),
  ...rows('wikibooks', 'SJN VSK VNV', 'nissan'),
  ...rows('vpic', 'JN1 JN8 1N4 3N1 5N1', 'nissan'),
  ...rows('wikibooks', 'WDB WDC WDD WDF WMX W1K W1N W1V', 'mercedes-benz'),
  ...rows('vininfo', 'VSA', 'mercedes-benz'),
  ...rows('vpic', '4JG 55S', 'mercedes-benz'),
  ...rows('wikibooks', 'WME W1A', 'smart'),
  ...rows('wikibooks', 'WBA WBS WBX WBY WB5', 'bmw'),
  ...rows('vpic', '4US 5UX 5YM 3MW', 'bmw'),
  ...rows('wikibooks', 'WMW WMZ', 'mini'),
  ...rows('wikibooks', 'WVW WVG WV1 WV2', 'volkswagen'),
  ...rows('vpic', '1VW 1V2 3VW', 'volkswagen'),
  ...rows('wikibooks', 'WAU', 'audi'),
  ...rows('vininfo', 'WA1', 'audi'),
  ...rows('wikibooks', 'WUA WU1 TRU', 'audi'),
  ...rows('wikibooks', 'TMB', 'skoda'),
  ...rows('wikibooks', 'VSS', 'seat', 'cupra'),
  ...rows('wikibooks', 'WP0 WP1', 'porsche'),
  ...rows('wikibooks', 'WF0 VS6 NM0 SFA', 'ford'),
  ...rows('vpic', '1FA 1FM 1FT 3FA', 'ford'),
  ...rows('wikibooks', 'JTD JTE JTM JTN NMT SB1 VNK YAR', 'toyota'),
  ...rows('vpic', '4T1 2T1 2T3 5TD', 'toyota'),
  ...rows('wikibooks', 'JTH JTJ', 'lexus'),
  ...rows('vpic', '2T2 58A', 'lexus'),
  ...rows('wikibooks', 'KMH KM8 NLH TMA', 'hyundai'),
  ...rows('vpic', '5NP', 'hyundai'),
  ...rows('wikibooks', 'KNA KND U5Y U6Y', 'kia'),
  ...rows('vpic', '5XY', 'kia', 'hyundai'),
  ...rows('wikibooks', 'YV1 YV4 LYV LVY', 'volvo-cars'),
  ...rows('vpic', '7JR', 'volvo-cars'),
  ...rows('wikibooks', 'YSM LPS', 'polestar'),
  ...rows('wikibooks', 'JHM SHH', 'honda'),
  ...rows('vpic', '1HG', 'honda'),
  ...rows('wikibooks', 'JMZ', 'mazda'),
  ...rows('vpic', 'JM1 JM3', 'mazda'),
  ...rows('wikibooks', 'SAJ', 'jaguar'),
  ...rows('vininfo', 'SAD', 'jaguar'),
  ...rows('wikibooks', 'SAL', 'land-rover'),
  ...rows('vpic', '5YJ 7SA', 'tesla'),
  ...rows('wikibooks', 'LRW XP7', 'tesla'),
  ...rows('wikibooks', 'ZFF', 'ferrari'),
  ...rows('vpic', 'YT9007', 'koenigsegg'),
];

const byWmi = new Map(wmiTable.map(({ wmi, brands }) => [wmi, brands]));

/** The brands a VIN may be of, the likeliest first; empty when the maker is unknown. The VIN must be normalised already. */
export function candidateBrands(vin: string): readonly BrandId[] {
  const wmi = vin[2] === '9' ? vin.slice(0, 3) + vin.slice(11, 14) : vin.slice(0, 3);
  return byWmi.get(wmi) ?? [];
}

/** The makers some of whose vehicles may be of one of these brands. */
export const makersOf = (ids: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([
    ...ids,
    ...wmiTable.filter((row) => row.brands.some((id) => ids.has(id))).flatMap((row) => row.brands.slice(0, 1)),
  ]);
