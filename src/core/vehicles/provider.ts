import { z } from 'zod';
import { field } from '../fields.ts';

export const providerState = z.enum(['OK', 'HELD_BACK']);

const since = 'Since when it is held back; null where it is not.';

export const providerBrand = z
  .object({
    id: field(z.string(), 'The slug of the manufacturer.', 'bmw'),
    state: field(providerState, 'Whether questions about its vehicles go through.', 'OK'),
    since: field(z.iso.datetime().nullable(), since, null),
  })
  .meta({ id: 'ProviderBrand', description: 'A manufacturer as a provider answers for it.' });

export const provider = z
  .object({
    name: field(z.string(), 'A slug, as in `provider` of a manufacturer.', 'high-mobility'),
    state: field(
      providerState,
      '`OK`: it is asked. `HELD_BACK`: it failed several times in a row, or asked for a pause, so that it is asked less for now.',
      'OK',
    ),
    since: field(z.iso.datetime().nullable(), since, null),
    askedLastMinute: field(z.int(), 'How many questions it was asked within the last minute.', 42),
    oldestWaiting: field(
      z.iso.datetime().nullable(),
      'When the vehicle was added that waits longest for its first answer; null where none waits.',
      '2026-11-20T08:00:00.000Z',
    ),
    brands: z.array(providerBrand).describe('The manufacturers that it answers for.'),
  })
  .meta({
    id: 'Provider',
    description: 'Who answers about eligibility, and whether it does: of the whole service, whoever asks.',
  });
export type ProviderStatus = z.output<typeof provider>;
