import {
  contractWarningCodeSchema,
  contractWarningSchema,
  listPacks,
  MOST_PACKS,
  type Pack,
  packSchema,
} from '../../core/contracts/packs.ts';
import { schemaBuilder } from './builder.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension, GraphqlContext, OperationExtension } from './graphql-context.ts';
import { ManufacturerRef, MOST_MANUFACTURERS } from './manufacturers.ts';

enumTypeOf(
  'ContractWarningCode',
  contractWarningCodeSchema,
  'The reason for which a contract may have no effect at the manufacturer.',
  {
    PACK_NOT_OFFERED: 'Neither the operator’s settings nor the manufacturer’s provider offers the pack.',
    VEHICLE_NOT_ELIGIBLE: 'The manufacturer says that the vehicle is not eligible for its connected-data program.',
    MANUFACTURER_NOT_SUPPORTED: 'No configured provider carries out contracts for the vehicle’s manufacturer.',
  },
);
objectTypeOf('ContractWarning', contractWarningSchema);
export const MOST_WARNINGS = contractWarningCodeSchema.options.length;

const PackRef = objectTypeOf('Pack', packSchema, {
  manufacturers: {
    type: [ManufacturerRef],
    extensions: { size: MOST_MANUFACTURERS } satisfies CostExtension,
    resolve: ({ manufacturers }: Pack, _args: object, { ctx }: GraphqlContext) =>
      ctx.services.manufacturers.list().filter(({ id }) => manufacturers.includes(id)),
  },
});
schemaBuilder.queryField('packs', (t) =>
  t.field({
    type: [PackRef],
    extensions: { scope: 'contracts:read', size: MOST_PACKS } satisfies CostExtension & OperationExtension,
    description:
      'Lists the packs of data services that the operator offers, and those that contracts of the company have, by name.',
    resolve: (_root, _args, { ctx }) => listPacks(ctx),
  }),
);
