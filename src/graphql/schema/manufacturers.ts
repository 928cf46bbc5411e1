import { listProviders, manufacturer, provider, providerBrand, providerState } from '../../core/vehicles/providers.ts';
import type { GraphqlContext } from '../execution/context.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { enumOf, objectOf } from './described.ts';

const ManufacturerRef = objectOf('Manufacturer', manufacturer);

const MOST_MANUFACTURERS = 50;
const MOST_PROVIDERS = 10;

builder.queryField('manufacturers', (t) =>
  t.field({
    type: [ManufacturerRef],
    extensions: { size: MOST_MANUFACTURERS } satisfies Cost,
    description: 'All manufacturers the gateway knows, whether or not their vehicles can be verified.',
    resolve: read,
  }),
);

/** The manufacturer of an object from core, by its slug; plans have it already. */
export const manufacturerBySlug = {
  type: ManufacturerRef,
  resolve: ({ manufacturer: slug }: { manufacturer: string | null }, _args: object, { ctx }: GraphqlContext) =>
    ctx.services.manufacturers.list().find(({ id }) => id === slug) ?? null,
};

enumOf('ProviderState', providerState, 'Whether a provider is asked.', {
  OK: 'It is.',
  HELD_BACK: 'It failed, or asked for a pause: it is asked less for now.',
});
objectOf('ProviderBrand', providerBrand);

const mostOf = { extensions: { size: MOST_MANUFACTURERS } satisfies Cost };

builder.queryField('providers', (t) =>
  t.field({
    type: [objectOf('Provider', provider, { brands: mostOf })],
    extensions: { size: MOST_PROVIDERS } satisfies Cost,
    description: 'Who answers about eligibility, and whether it does: for those who wonder why no answer comes.',
    resolve: (_root, _args, { ctx }) => listProviders(ctx),
  }),
);
