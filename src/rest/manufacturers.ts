import { authorize } from '../core/context.ts';
import { selectionOf } from '../core/sql/json-table.ts';
import { pick } from '../core/sql/selection.ts';
import { manufacturer } from '../core/vehicles/manufacturer.ts';
import { manufacturerDocs } from './openapi/manufacturers.ts';
import type { Route } from './route.ts';

const fields = selectionOf(manufacturer);

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
];
