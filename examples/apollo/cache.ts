import { InMemoryCache, type TypePolicies } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { embedded, possibleTypes } from '../schema-facts.ts';

/** Merges the fields of a part that different queries select. */
const part = { keyFields: false, merge: true } as const;

/**
 * Joins the pages of lists that are read by their `edges`, separately for each filter and order. A list that shows one
 * page at a time needs no policy.
 */
const paged: TypePolicies = {
  Fleet: { fields: { vehicles: relayStylePagination(['filter', 'orderBy']) } },
};

export const newCache = (): InMemoryCache =>
  new InMemoryCache({
    possibleTypes,
    typePolicies: { ...Object.fromEntries(embedded.map((name) => [name, part])), ...paged },
  });
