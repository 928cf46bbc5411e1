import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { IntrospectionQuery } from 'graphql';
import { embedded } from '../schema-facts.ts';

/** By the schema, Graphcache matches fragments on unions; without it, Graphcache warns of fields of other types. */
export const newCache = (schema: IntrospectionQuery) =>
  cacheExchange({
    schema,
    keys: Object.fromEntries(embedded.map((name) => [name, () => null])),
    // The pages of a list are joined, separately for each filter and order.
    resolvers: { Fleet: { vehicles: relayPagination() } },
    updates: {
      Mutation: {
        // The fleet has vehicles that the cache does not know.
        importVehicles: (_, { input }, cache) =>
          cache.invalidate({ __typename: 'Fleet', id: (input as { fleetId: string }).fleetId }),
      },
    },
  });
