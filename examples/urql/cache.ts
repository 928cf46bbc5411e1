import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { IntrospectionQuery } from 'graphql';
import { embedded } from '../schema-facts.ts';

/** The schema tells Graphcache which fragments on unions match; without it, it warns of fields of the others. */
export const newCache = (schema: IntrospectionQuery) =>
  cacheExchange({
    schema,
    keys: Object.fromEntries(embedded.map((name) => [name, () => null])),
    // Pages of a list are put behind each other, apart for each filter and order.
    resolvers: { Fleet: { vehicles: relayPagination() } },
    updates: {
      Mutation: {
        // The fleet has vehicles that the cache does not know.
        importVehicles: (_, { input }, cache) =>
          cache.invalidate({ __typename: 'Fleet', id: (input as { fleetId: string }).fleetId }),
      },
    },
  });
