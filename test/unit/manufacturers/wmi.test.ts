import { decodeVIN } from 'universal-vin-decoder';
import { describe, expect, test } from 'vitest';
import { type BrandId, brandIds, brands, candidateBrands, wmiTable } from '../../../src/manufacturers/brands.ts';

/** Words of the decoder for brands, if not the brand's name. */
const otherWords: Partial<Record<BrandId, RegExp>> = {
  alfaromeo: /Alfa Romeo/,
  ds: /DS Automobiles/,
  opel: /Opel/,
  seat: /SEAT/,
  skoda: /Škoda/,
  smart: /Smart/,
  mini: /Mini /,
};

/** WMIs for which the decoder names a maker of another decade or the group; our row has its own source. */
const knownDifferences = new Map([
  ['1C4', 'Chrysler brand MPV 1990-2005'],
  ['3C3', 'Chrysler brand car 1981-2011'],
  ['3C4', 'Chrysler brand MPV 2001-2005'],
  ['SAD', 'Daimler until April 1987'],
]);

const vinOf = (wmi: string) => `${wmi.slice(0, 3)}ZZZ1KZ0W${wmi.slice(3) || '000'}001`;

/** The manufacturer by the independent decoder, which does not know makers of small series. */
function decoded(wmi: string): string | undefined {
  return decodeVIN(vinOf(wmi)).info?.manufacturer;
}

const names = (brand: BrandId) => otherWords[brand] ?? new RegExp(brands[brand], 'i');

describe('WMI table', () => {
  test('has about 120 rows for about 30 brands, each with its source', () => {
    expect(wmiTable.length).toBeGreaterThanOrEqual(120);
    expect(brandIds.length).toBeGreaterThanOrEqual(30);
    for (const { source } of wmiTable) expect(source).not.toBe('');
  });

  test('has every WMI once, in the form of ISO 3780', () => {
    expect(new Set(wmiTable.map(({ wmi }) => wmi)).size).toBe(wmiTable.length);
    for (const { wmi } of wmiTable) expect(wmi).toMatch(/^[A-HJ-NPR-Z0-9]{2}([A-HJ-NPR-Z0-8]|9[A-HJ-NPR-Z0-9]{3})$/);
  });

  test('names known brands only, each once in a row, and every brand at least once', () => {
    for (const row of wmiTable) {
      expect(row.brands.length).toBeGreaterThan(0);
      expect(new Set(row.brands).size).toBe(row.brands.length);
    }
    expect([...new Set(wmiTable.flatMap((row) => row.brands))].sort()).toEqual([...brandIds].sort());
  });

  test('slugs are lower case words joined by dashes', () => {
    for (const id of brandIds) expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  test('agrees with an independent decoder, row by row', () => {
    const differences = wmiTable.filter(({ wmi, brands }) => {
      const maker = decoded(wmi);
      return maker !== undefined && !brands.some((brand) => names(brand).test(maker));
    });
    expect(new Map(differences.map(({ wmi }) => [wmi, decoded(wmi)]))).toEqual(knownDifferences);
  });

  test('the independent decoder knows nearly all WMIs', () => {
    const unknown = wmiTable.filter(({ wmi }) => decoded(wmi) === undefined).map(({ wmi }) => wmi);
    expect(unknown.sort()).toEqual(['VSA', 'VXF', 'WA1']);
  });

  test.each<[string, BrandId[]]>([
    ['W0L', ['opel', 'vauxhall']],
    ['W0V', ['opel', 'vauxhall']],
    ['VXK', ['opel', 'vauxhall']],
    ['VF7', ['citroen', 'ds']],
    ['VR1', ['ds']],
    ['VR3', ['peugeot']],
    ['VR7', ['citroen']],
    ['VF3', ['peugeot']],
    ['VF1', ['renault', 'dacia']],
    ['UU1', ['dacia']],
    ['VSS', ['seat', 'cupra']],
    ['ZFF', ['ferrari']],
    ['WP0', ['porsche']],
    ['QQQ', []],
  ])('%s may be %s', (wmi, expected) => {
    expect(candidateBrands(vinOf(wmi))).toEqual(expected);
  });

  test('makers of small series are identified by positions 12 to 14 as well', () => {
    expect(candidateBrands('YT9NN1U14KA007175')).toEqual(['koenigsegg']);
    expect(candidateBrands('YT9NN1U14KA008175')).toEqual([]);
  });
});
