import { FOUND_MOST, search, searchInput } from '../../core/reads/search.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { ContractRef } from './contracts.ts';
import { FleetRef } from './fleets.ts';
import { resolvePlanned } from './node.ts';
import { VehicleRef } from './vehicles.ts';

const SearchResult = builder.unionType('SearchResult', {
  description: 'A fleet or a contract with the text in its name, or a vehicle with it in its VIN.',
  types: [FleetRef, VehicleRef, ContractRef],
  resolveType: resolvePlanned,
});

builder.queryField('search', (t) =>
  t.field({
    type: [SearchResult],
    description:
      'Fleets and contracts by a part of their names, whatever its case and accents, and vehicles by their VIN or 3 characters or more from its beginning or its end. First what is the text, then what begins with it. Contracts are found with the scope `contracts:read`. Errors: VALIDATION_FAILED.',
    extensions: { size: FOUND_MOST } satisfies Cost,
    args: {
      text: t.arg.string({ required: true, description: searchInput.shape.text.description }),
      first: t.arg.int({ required: true, defaultValue: 10, description: `How many at most: 1 to ${FOUND_MOST}.` }),
    },
    async resolve(_root, asked, { ctx, reads }, info) {
      const found = await search(ctx, asked);
      const ids = found.map(({ id }) => id);
      const rows = await reads.nodes(ids, info);
      // Results that were deleted meanwhile are left out.
      return rows.filter((one) => one !== null) as never;
    },
  }),
);
