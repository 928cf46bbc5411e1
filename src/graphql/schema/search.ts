import { MOST_SEARCH_RESULTS, searchInput, searchResources } from '../../core/reads/search.ts';
import { schemaBuilder } from './builder.ts';
import { ContractRef } from './contracts.ts';
import { FleetRef } from './fleets.ts';
import { type CostExtension, resolvePlannedType } from './graphql-context.ts';
import { VehicleRef } from './vehicles.ts';

const SearchResult = schemaBuilder.unionType('SearchResult', {
  description:
    'A result of a search: a fleet or a contract with the text in its name, or a vehicle with the text in its VIN.',
  types: [FleetRef, VehicleRef, ContractRef],
  resolveType: resolvePlannedType,
});

schemaBuilder.queryField('search', (t) =>
  t.field({
    type: [SearchResult],
    description:
      'Finds fleets and contracts by a part of their name, regardless of case and accents, and vehicles by their VIN or by at least 2 characters of its beginning or end. Exact matches come first, then names and VINs that begin with the text. Contracts are only found with `contracts:read`.',
    // A search sends four statements, and looks at all names of the company's fleets: it pays for 1,000 objects.
    extensions: { size: MOST_SEARCH_RESULTS, weight: 1000 / MOST_SEARCH_RESULTS } satisfies CostExtension,
    args: {
      text: t.arg.string({ required: true, description: searchInput.shape.text.description }),
      first: t.arg.int({
        required: true,
        defaultValue: 10,
        description: `The largest number of search results: 1 to ${MOST_SEARCH_RESULTS}, by default 10.`,
      }),
    },
    async resolve(_root, asked, { ctx, reads }, info) {
      const found = await searchResources(ctx, asked);
      const ids = found.map(({ id }) => id);
      const rows = await reads.nodes(ids, info);
      // Results that were deleted meanwhile are left out.
      return rows.filter((one) => one !== null) as never;
    },
  }),
);
