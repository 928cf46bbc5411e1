import {
  listProviders,
  manufacturerSchema,
  providerBrandSchema,
  providerContractsSchema,
  providerSchema,
  providerStateSchema,
} from '../../core/vehicles/providers.ts';
import { schemaBuilder } from './builder.ts';
import type { GraphqlContext } from './context.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension } from './extensions.ts';
import { resolvePlannedField } from './planned.ts';

const ManufacturerRef = objectTypeOf('Manufacturer', manufacturerSchema);

const MOST_MANUFACTURERS = 50;
const MOST_PROVIDERS = 10;

schemaBuilder.queryField('manufacturers', (t) =>
  t.field({
    type: [ManufacturerRef],
    extensions: { size: MOST_MANUFACTURERS } satisfies CostExtension,
    description: 'All manufacturers the gateway knows, whether or not their vehicles can be verified.',
    resolve: resolvePlannedField,
  }),
);

/** The manufacturer of an object from core, by its slug; plans have it already. */
export const manufacturerOverride = {
  type: ManufacturerRef,
  resolve: ({ manufacturer: slug }: { manufacturer: string | null }, _args: object, { ctx }: GraphqlContext) =>
    ctx.services.manufacturers.list().find(({ id }) => id === slug) ?? null,
};

enumTypeOf('ProviderState', providerStateSchema, 'Whether a provider is asked.', {
  OK: 'It is.',
  HELD_BACK: 'It failed, or asked for a pause: it is asked less for now.',
});
objectTypeOf('ProviderBrand', providerBrandSchema);
objectTypeOf('ProviderContracts', providerContractsSchema);

const mostOf = { extensions: { size: MOST_MANUFACTURERS } satisfies CostExtension };

schemaBuilder.queryField('providers', (t) =>
  t.field({
    type: [objectTypeOf('Provider', providerSchema, { brands: mostOf })],
    extensions: { size: MOST_PROVIDERS } satisfies CostExtension,
    description: 'Who answers about eligibility, and whether it does: for those who wonder why no answer comes.',
    resolve: (_root, _args, { ctx }) => listProviders(ctx),
  }),
);
