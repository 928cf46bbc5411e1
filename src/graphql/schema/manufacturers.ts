import { authorize, type Context } from '../../core/context.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';

type Manufacturers = Context['services']['manufacturers'];
type Manufacturer = ReturnType<Manufacturers['list']>[number];

export const ManufacturerRef = builder.objectRef<Manufacturer>('Manufacturer');

builder.objectType(ManufacturerRef, {
  description: 'A maker of vehicles, told from the first characters of a VIN.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A slug, such as `bmw` or `mercedes-benz`.' }),
    name: t.exposeString('name', { description: 'The name as the maker writes it.' }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'The provider that is asked about its vehicles; null where none is configured.',
    }),
    supported: t.exposeBoolean('supported', {
      description: 'Whether the eligibility of its vehicles can be verified here.',
    }),
    wmis: t.exposeStringList('wmis', {
      description: 'The world manufacturer identifiers (first characters of a VIN) that may be of this maker.',
    }),
  }),
});

/** There are some thirty, and no caller makes more. */
const MOST_MANUFACTURERS = 50;

builder.queryField('manufacturers', (t) =>
  t.field({
    type: [ManufacturerRef],
    extensions: { size: MOST_MANUFACTURERS } satisfies Cost,
    description: 'All manufacturers the gateway knows, whether or not their vehicles can be verified.',
    resolve(_root, _args, { ctx }) {
      authorize(ctx, 'fleets:read');
      return ctx.services.manufacturers.list();
    },
  }),
);

const known = new WeakMap<Manufacturers, Map<string, Manufacturer>>();

/** The manufacturer with this slug; null for none. */
export function manufacturerOf({ services: { manufacturers } }: Context, slug: string | null): Manufacturer | null {
  const bySlug = known.get(manufacturers) ?? new Map(manufacturers.list().map((one) => [one.id, one]));
  known.set(manufacturers, bySlug);
  return (slug !== null && bySlug.get(slug)) || null;
}
