import { InMemoryCache, type TypePolicies } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { embedded, possibleTypes } from '../schema-facts.ts';

/** Queries that select different fields of a part add to each other. */
const part = { keyFields: false, merge: true } as const;

/**
 * Lists that are read page after page by their `edges`: pages are put behind each other, apart for each filter and order. A
 * list that is shown one page at a time needs no policy.
 */
const paged: TypePolicies = {
  Fleet: { fields: { vehicles: relayStylePagination(['filter', 'orderBy']) } },
};

export const newCache = (): InMemoryCache =>
  new InMemoryCache({
    possibleTypes,
    typePolicies: { ...Object.fromEntries(embedded.map((name) => [name, part])), ...paged },
  });
