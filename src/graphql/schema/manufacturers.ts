import {
  manufacturerSchema,
  providerBrandSchema,
  providerContractsSchema,
  providerSchema,
  providerServiceNameSchema,
  providerServiceSchema,
  providerStateSchema,
  serviceStateSchema,
} from '../../core/vehicles/provider-schema.ts';
import { listProviders } from '../../core/vehicles/providers.ts';
import { schemaBuilder } from './builder.ts';
import { addReadField } from './connection.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension, GraphqlContext } from './graphql-context.ts';
import { manufacturerOf } from './node.ts';

export const ManufacturerRef = objectTypeOf('Manufacturer', manufacturerSchema);

export const MOST_MANUFACTURERS = 50;
const MOST_PROVIDERS = 10;

const all = 'Lists all manufacturers that the gateway knows, also those whose vehicles it cannot ask about.';
addReadField('manufacturers', [ManufacturerRef], all, { extensions: { size: MOST_MANUFACTURERS } });

/** The manufacturer of an object from core, by its slug; plans have it already. */
export const manufacturerOverride = {
  type: ManufacturerRef,
  resolve: ({ manufacturer: slug }: { manufacturer: string | null }, _args: object, { ctx }: GraphqlContext) =>
    manufacturerOf(ctx, slug),
};

enumTypeOf('ProviderState', providerStateSchema, 'The state of the gateway’s questions to a provider.', {
  OK: 'The gateway asks the provider about vehicles without any restraint.',
  HELD_BACK: 'The provider failed several times in a row, or asked for a pause, so that it is asked less for now.',
  FAILING: 'One of the services of the provider fails; `services` says which, and why.',
  NOT_CONFIGURED:
    'The operator has taken the settings of the provider away: it is asked and told nothing, while contracts still name it.',
});
enumTypeOf('ProviderService', providerServiceNameSchema, 'The services that a provider does for the gateway.', {
  ELIGIBILITY: 'The provider says whether vehicles are eligible.',
  CLEARANCES: 'The provider clears vehicles for contracts.',
  ORDERS: 'The provider takes orders of the services that contracts need.',
});
enumTypeOf('ServiceState', serviceStateSchema, 'The state of a service of a provider.', {
  OK: 'The service answers, or has not been asked yet.',
  FAILING: 'The last answers of the service, several in a row, were faults.',
});
objectTypeOf('ProviderServiceState', providerServiceSchema);
objectTypeOf('ProviderBrand', providerBrandSchema, {
  id: {
    name: 'manufacturer',
    type: ManufacturerRef,
    description: 'The manufacturer that the provider answers for.',
    resolve: ({ id }: { id: string }, _args: object, { ctx }: GraphqlContext) => manufacturerOf(ctx, id),
  },
});
objectTypeOf('ProviderContracts', providerContractsSchema);

const fewOf = { extensions: { size: 2 } satisfies CostExtension };
const mostOf = { extensions: { size: MOST_MANUFACTURERS } satisfies CostExtension };

schemaBuilder.queryField('providers', (t) =>
  t.field({
    type: [objectTypeOf('Provider', providerSchema, { brands: mostOf, services: fewOf })],
    extensions: { size: MOST_PROVIDERS } satisfies CostExtension,
    description:
      'Lists the providers, the services that answer about vehicles for manufacturers. Their states show why answers are missing.',
    resolve: (_root, _args, { ctx }) => listProviders(ctx),
  }),
);
