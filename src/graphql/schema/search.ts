import { MOST_SEARCH_RESULTS, searchInput, searchResources } from '../../core/reads/search.ts';
import { schemaBuilder } from './builder.ts';
import { ContractRef } from './contracts.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { resolvePlannedType } from './planned.ts';
import { VehicleRef } from './vehicles.ts';

const SearchResult = schemaBuilder.unionType('SearchResult', {
  description: 'A fleet or a contract with the text in its name, or a vehicle with it in its VIN.',
  types: [FleetRef, VehicleRef, ContractRef],
  resolveType: resolvePlannedType,
});

schemaBuilder.queryField('search', (t) =>
  t.field({
    type: [SearchResult],
    description:
      'Fleets and contracts by a part of their names, whatever its case and accents, and vehicles by their VIN or 3 characters or more from its beginning or its end. First what is the text, then what begins with it. Contracts are found with the scope `contracts:read`. Errors: VALIDATION_FAILED.',
    // A search sends four statements, and looks at all names of the company's fleets: it pays for 1,000 objects.
    extensions: { size: MOST_SEARCH_RESULTS, weight: 1000 / MOST_SEARCH_RESULTS } satisfies CostExtension,
    args: {
      text: t.arg.string({ required: true, description: searchInput.shape.text.description }),
      first: t.arg.int({
        required: true,
        defaultValue: 10,
        description: `How many at most: 1 to ${MOST_SEARCH_RESULTS}.`,
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
