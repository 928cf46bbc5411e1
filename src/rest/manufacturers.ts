import { z } from 'zod';
import { authorize } from '../core/context.ts';
import { fieldCopier } from '../core/sql/selection.ts';
import { listProviders, manufacturerSchema, providerSchema } from '../core/vehicles/providers.ts';
import { operations } from './route.ts';

const shape = fieldCopier(manufacturerSchema);
const providerShape = fieldCopier(providerSchema);

const { get } = operations('Manufacturers');

export const manufacturerRoutes = [
  get('/manufacturers', 'listManufacturers', {
    summary: 'List manufacturers',
    description: 'Every manufacturer that is known, and whether its vehicles can be asked about.',
    answers: { 200: { description: 'The manufacturers.', schema: z.array(manufacturerSchema) } },
    async answer(ctx) {
      authorize(ctx, 'fleets:read');
      return { body: ctx.services.manufacturers.list().map(shape) };
    },
  }),
  get('/providers', 'listProviders', {
    summary: 'List providers',
    description: 'Who answers about eligibility, and whether it does: for those who wonder why no answer comes.',
    answers: { 200: { description: 'The providers.', schema: z.array(providerSchema) } },
    answer: async (ctx) => ({ body: (await listProviders(ctx)).map(providerShape) }),
  }),
];
