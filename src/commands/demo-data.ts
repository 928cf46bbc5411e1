/** A fleet of the demo; `serial` tells its vehicles' VINs apart from the other fleets'. */
export interface DemoFleet {
  serial: number;
  fields: { name: string; companyAddress: string; email: string; vat: string };
  /** The first three characters of the VINs, which tell the brand. */
  wmis: readonly string[];
  /** The last character of the VINs, which decides the sandbox's answer; see docs/reference.md. */
  lastDigits: string;
  vehicles: number;
}

const company = { email: 'fleet@demo.example', vat: 'DE123456789' };

export const demoFleets: readonly DemoFleet[] = [
  {
    serial: 1,
    fields: { ...company, name: 'Field service Berlin', companyAddress: 'Invalidenstraße 44, 10115 Berlin' },
    wmis: ['WBA', 'WDB', 'WVW', 'VF1', 'VF3', 'W0L', 'TMB', 'YV1'],
    lastDigits: '0123456',
    vehicles: 120,
  },
  {
    serial: 2,
    fields: { ...company, name: 'Flotte Genève', companyAddress: 'Rue de Lausanne 72, 1202 Genève' },
    wmis: ['VF7', 'ZFA', 'ZAR', 'VF3', 'WMW', 'JTD', 'SAJ', 'ZAC'],
    lastDigits: '0123457',
    vehicles: 80,
  },
  {
    serial: 3,
    fields: { ...company, name: 'Pool cars, slow to answer', companyAddress: '1 Main Street, Rotterdam' },
    wmis: ['WBA', 'WF0', 'WDB', 'KMH'],
    lastDigits: '8879',
    vehicles: 240,
  },
  {
    serial: 4,
    fields: { ...company, name: 'Management', companyAddress: 'Maximilianstraße 1, 80539 München' },
    wmis: ['ZFF', 'WP0', 'WBS', '5YJ', 'AAA'],
    lastDigits: '0',
    vehicles: 15,
  },
];

/** The VINs of a fleet, always the same ones. */
export const vinsOf = ({ serial, wmis, lastDigits, vehicles }: DemoFleet): string[] =>
  Array.from({ length: vehicles }, (_, index) => {
    const wmi = wmis[index % wmis.length];
    const digit = lastDigits[Math.floor(index / wmis.length) % lastDigits.length];
    return `${wmi}DEM0${String(serial).padStart(3, '0')}${String(index).padStart(6, '0')}${digit}`;
  });

/** One of each status, by the year that the period begins in; every fleet's first vehicles get them in turn. */
export const demoContracts = [
  { name: 'Telematics', description: 'Mileage and location', pack: 'basic', year: 0 },
  { name: 'Telematics', description: 'Mileage and location, the year before', pack: 'basic', year: -1 },
  { name: 'Driving log', description: 'Trips for the driving log', pack: 'driving-log', year: 0 },
  { name: 'Charging', description: 'Battery and charging, from next year', pack: 'charging', year: 1 },
] as const;
