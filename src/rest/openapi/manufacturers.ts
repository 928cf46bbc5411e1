import { z } from 'zod';
import { manufacturer } from '../../core/vehicles/manufacturer.ts';
import type { RouteDocs } from './route-docs.ts';

export const manufacturerDocs = {
  list: {
    operationId: 'listManufacturers',
    tag: 'Manufacturers',
    summary: 'List manufacturers',
    description: 'Every manufacturer that is known, and whether its vehicles can be asked about.',
    answers: { 200: { description: 'The manufacturers.', schema: z.array(manufacturer) } },
  },
} satisfies Record<string, RouteDocs>;
