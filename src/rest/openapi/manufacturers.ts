import { z } from 'zod';
import { manufacturer, provider } from '../../core/vehicles/providers.ts';
import type { RouteDocs } from './route-docs.ts';

export const manufacturerDocs = {
  list: {
    operationId: 'listManufacturers',
    tag: 'Manufacturers',
    summary: 'List manufacturers',
    description: 'Every manufacturer that is known, and whether its vehicles can be asked about.',
    answers: { 200: { description: 'The manufacturers.', schema: z.array(manufacturer) } },
  },
  providers: {
    operationId: 'listProviders',
    tag: 'Manufacturers',
    summary: 'List providers',
    description: 'Who answers about eligibility, and whether it does: for those who wonder why no answer comes.',
    answers: { 200: { description: 'The providers.', schema: z.array(provider) } },
  },
} satisfies Record<string, RouteDocs>;
