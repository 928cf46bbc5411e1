import { z } from 'zod';
import { authorize } from '../core/context.ts';
import { manufacturerSchema, providerSchema } from '../core/vehicles/provider-schema.ts';
import { listProviders } from '../core/vehicles/providers.ts';
import { operations } from './route.ts';

const { get } = operations('Manufacturers');

export const manufacturerRoutes = [
  get('/manufacturers', 'listManufacturers', {
    summary: 'List manufacturers',
    description: 'Lists all manufacturers that the gateway knows, also those whose vehicles it cannot ask about.',
    answers: { 200: { description: 'All manufacturers that the gateway knows.', schema: z.array(manufacturerSchema) } },
    async result(ctx) {
      authorize(ctx, 'fleets:read');
      return ctx.services.manufacturers.list();
    },
  }),
  get('/providers', 'listProviders', {
    summary: 'List providers',
    description:
      'Lists the providers, the services that answer about vehicles for manufacturers. Their states show why answers are missing.',
    answers: {
      200: {
        description: 'All providers that are configured, and those that contracts name.',
        schema: z.array(providerSchema),
      },
    },
    result: listProviders,
  }),
];
