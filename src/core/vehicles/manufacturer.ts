import { z } from 'zod';
import { field } from '../fields.ts';

export const manufacturer = z
  .object({
    id: field(z.string(), 'A slug, as in `manufacturer` of a vehicle in REST.', 'bmw'),
    name: field(z.string(), 'The name as the maker writes it.', 'BMW'),
    provider: field(
      z.string().nullable(),
      'The provider that is asked about its vehicles; null where none is configured.',
      'high-mobility',
    ),
    supported: field(z.boolean(), 'Whether the eligibility of its vehicles can be verified here.', true),
    wmis: field(
      z.array(z.string()),
      'The world manufacturer identifiers (first characters of a VIN) that may be of this maker.',
      ['WBA', 'WBS'],
    ),
  })
  .meta({ id: 'Manufacturer', description: 'A maker of vehicles, told from the first characters of a VIN.' });
