const AFTER = 'chr(1114111)';

/** Conditions of a column with VINs that begin, or that end, with `?`, by which an index is searched. */
export const vinPartSql = (vin: string) => ({
  begins: `${vin} >= ?::text and ${vin} < ?::text || ${AFTER}`,
  ends: `reverse(${vin}) >= reverse(?::text) and reverse(${vin}) < reverse(?::text) || ${AFTER}`,
});
