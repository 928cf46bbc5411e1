import { expressionBuilder } from 'kysely';
import { anyId, anyText, isId } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';

// Vehicles that a caller names, some by their ids and some by their VINs.

/** As the caller wrote them. */
interface Lists {
  ids?: readonly string[] | null | undefined;
  vins?: readonly string[] | null | undefined;
}

/** What of it can be an id or a VIN. */
export interface Named {
  ids: readonly string[];
  vins: readonly string[];
}

export const namedBy = ({ ids, vins }: Lists): Named => ({
  ids: (ids ?? []).filter(isId),
  vins: (vins ?? []).map(vinOrNull).filter((vin) => vin !== null),
});

/** That a vehicle `v` is named. */
export const isNamed = ({ ids, vins }: Named) => {
  const { eb, or } = expressionBuilder<{ v: Tables['vehicle'] }, 'v'>();
  return or([eb('v.id', '=', anyId(ids)), eb('v.vin', '=', anyText(vins))]);
};

/** What names none of the vehicles that were found, as the caller wrote it. */
export function notFoundOf({ ids, vins }: Lists, found: readonly { id: string; vin: string }[]) {
  const foundIds = new Set(found.map(({ id }) => id));
  const foundVins = new Set(found.map(({ vin }) => vin));
  return {
    ids: (ids ?? []).filter((wanted) => !foundIds.has(wanted.toLowerCase())),
    vins: (vins ?? []).filter((wanted) => !foundVins.has(vinOrNull(wanted) ?? '')),
  };
}
