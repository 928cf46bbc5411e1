import { z } from 'zod';
import { field } from '../../core/fields.ts';
import type { RouteDocs } from './route-docs.ts';

const manufacturerJson = z
  .object({
    id: field(z.string(), 'A slug, as in `manufacturer` of a vehicle.', 'bmw'),
    name: field(z.string(), 'As people write it.', 'BMW'),
    provider: field(
      z.string().nullable(),
      'Who is asked about its vehicles; null where nobody can be.',
      'high-mobility',
    ),
    supported: field(z.boolean(), 'Whether eligibility can be asked.', true),
    wmis: field(z.array(z.string()), 'How its VINs begin.', ['WBA', 'WBS']),
  })
  .meta({ id: 'Manufacturer', description: 'A maker of vehicles.' });

export const manufacturerDocs = {
  list: {
    operationId: 'listManufacturers',
    tag: 'Manufacturers',
    summary: 'List manufacturers',
    description: 'Every manufacturer that is known, and whether its vehicles can be asked about.',
    answers: { 200: { description: 'The manufacturers.', schema: z.array(manufacturerJson) } },
  },
} satisfies Record<string, RouteDocs>;
