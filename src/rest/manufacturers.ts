import { authorize } from '../core/context.ts';
import { shapeOf } from '../core/sql/selection.ts';
import { listProviders, manufacturer, provider } from '../core/vehicles/providers.ts';
import { manufacturerDocs } from './openapi/manufacturers.ts';
import type { Route } from './route.ts';

const shape = shapeOf(manufacturer);
const providerShape = shapeOf(provider);

export const manufacturerRoutes: Route[] = [
  {
    method: 'GET',
    path: '/manufacturers',
    scope: 'fleets:read',
    docs: manufacturerDocs.list,
    async answer(ctx) {
      authorize(ctx, 'fleets:read');
      return { status: 200, body: ctx.services.manufacturers.list().map(shape) };
    },
  },
  {
    method: 'GET',
    path: '/providers',
    scope: 'fleets:read',
    docs: manufacturerDocs.providers,
    answer: async (ctx) => ({
      status: 200,
      body: (await listProviders(ctx)).map(providerShape),
    }),
  },
];
