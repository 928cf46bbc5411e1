import { authorize } from '../core/context.ts';
import { manufacturerDocs } from './openapi/manufacturers.ts';
import type { Route } from './route.ts';

export const manufacturerRoutes: Route[] = [
  {
    method: 'GET',
    path: '/manufacturers',
    scope: 'fleets:read',
    docs: manufacturerDocs.list,
    async answer(ctx) {
      authorize(ctx, 'fleets:read');
      const manufacturers = ctx.services.manufacturers.list();
      return {
        status: 200,
        body: manufacturers.map(({ id, name, provider, supported, wmis }) => ({ id, name, provider, supported, wmis })),
      };
    },
  },
];
