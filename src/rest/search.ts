import { z } from 'zod';
import { contractSchema } from '../core/contracts/contract.ts';
import { field } from '../core/fields.ts';
import { fleetSchema } from '../core/fleets/fleet.ts';
import { readInput } from '../core/input.ts';
import { searchInput, searchResources } from '../core/reads/search.ts';
import { copierOf } from '../core/sql/selection.ts';
import { vehicleJson } from './export.ts';
import { digits } from './list.ts';
import { mapValues } from './openapi/json-schema.ts';
import { once, operations } from './route.ts';

const typeOf = <Name extends string>(name: Name) => field(z.literal(name), 'The type of the search result.', name);

const hits = {
  Fleet: z.object({ type: typeOf('Fleet'), ...fleetSchema.shape }),
  Vehicle: z.object({ type: typeOf('Vehicle'), ...vehicleJson.shape }),
  Contract: z.object({ type: typeOf('Contract'), ...contractSchema.shape }),
};
const copies = mapValues<z.ZodType, (hit: object) => unknown>(hits, copierOf);
const searchResult = z.union([hits.Fleet, hits.Vehicle, hits.Contract]).meta({
  id: 'SearchHit',
  description: 'A result of a search: a fleet, a vehicle or a contract, with its `type`.',
});

const { text, first } = searchInput.shape;
/** The input of core under the names of REST. */
const searchQuery = z.object({ q: once.pipe(text), limit: digits.optional().pipe(first) });

const { get } = operations('Search');

export const searchRoutes = [
  get('/search', 'search', {
    summary: 'Find fleets, vehicles and contracts',
    description:
      'Finds fleets and contracts by a part of their name, regardless of case and accents, and vehicles by their VIN or ' +
      'by at least 2 characters of its beginning or end. Exact matches come first, then names and VINs that begin with the ' +
      'text. Where scopes are in use, contracts are only found with `contracts:read`.',
    query: ['searchText', 'searchLimit'],
    answers: { 200: { description: 'The results, the best first.', schema: z.array(searchResult) } },
    async answer(ctx, { query }) {
      const { q: text, limit: first } = readInput(searchQuery, query);
      return { body: (await searchResources(ctx, { text, first })).map((hit) => copies[hit.type]?.(hit)) };
    },
  }),
];
