import { authorize } from '../core/context.ts';
import { selectionOf } from '../core/sql/json-table.ts';
import { pick } from '../core/sql/selection.ts';
import { manufacturer } from '../core/vehicles/manufacturer.ts';
import { provider } from '../core/vehicles/provider.ts';
import { listProviders } from '../core/vehicles/providers.ts';
import { manufacturerDocs } from './openapi/manufacturers.ts';
import type { Route } from './route.ts';

const fields = selectionOf(manufacturer);

const providerFields = selectionOf(provider);

export const manufacturerRoutes: Route[] = [
  {
    method: 'GET',
    path: '/manufacturers',
    scope: 'fleets:read',
    docs: manufacturerDocs.list,
    async answer(ctx) {
      authorize(ctx, 'fleets:read');
      return { status: 200, body: ctx.services.manufacturers.list().map((one) => pick(one, fields)) };
    },
  },
  {
    method: 'GET',
    path: '/providers',
    scope: 'fleets:read',
    docs: manufacturerDocs.providers,
    answer: async (ctx) => ({
      status: 200,
      body: (await listProviders(ctx)).map((one) => pick(one, providerFields)),
    }),
  },
];
