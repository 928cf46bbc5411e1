/** Every brand the gateway can tell from a VIN: slug → name. The slugs are wire names and, where it serves them, High Mobility's. */
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

/** All slugs, in the order of the table. */
export const brandIds = Object.keys(brands) as [BrandId, ...BrandId[]];

/** What High Mobility's eligibility check takes as a brand. */
export const highMobilityBrands = [
  'alfaromeo',
  'bmw',
  'citroen',
  'ds',
  'fiat',
  'ford',
  'jeep',
  'lexus',
  'mercedes-benz',
  'mini',
  'opel',
  'peugeot',
  'renault',
  'toyota',
  'vauxhall',
  'volvo-cars',
] as const satisfies readonly BrandId[];

/** Brands the sandbox does not serve, so that an unsupported manufacturer can be seen in development. */
export const withheldFromSandbox: readonly BrandId[] = ['ferrari', 'porsche'];
