import { z } from 'zod';
import { providerServices } from '../../manufacturers/index.ts';
import { field, timeOrNullField } from '../fields.ts';
import { reasonSchema } from '../reason.ts';

/** Waiting programs that are counted. */
export const MOST_WAITING_PROGRAMS = 100_000;

export const manufacturerSchema = z
  .object({
    id: field(z.string(), 'The id of the manufacturer, such as `bmw`, as vehicles have it in REST.', 'bmw'),
    name: field(z.string(), 'The name of the manufacturer as it writes it.', 'BMW'),
    provider: field(
      z.string().nullable(),
      'The name of the provider, the service that is asked about the manufacturer’s vehicles; null if none is configured.',
      'high-mobility',
    ),
    supported: field(z.boolean(), 'True if a provider can be asked about the manufacturer’s vehicles.', true),
    contracts: field(
      z.boolean(),
      'True if a provider carries out contracts for the manufacturer’s vehicles; `packs` says for which packs.',
      true,
    ),
    wmis: field(
      z.array(z.string()),
      'The world manufacturer identifiers (WMI) of the manufacturer: the first three characters of its VINs, and for a maker of few vehicles the 12th to 14th as well. Several manufacturers may share one.',
      ['WBA', 'WBS'],
    ),
  })
  .meta({ id: 'Manufacturer', description: 'A manufacturer of vehicles, which the first characters of a VIN tell.' });

export const providerStateSchema = z.enum(['OK', 'HELD_BACK', 'FAILING', 'NOT_CONFIGURED']);
export const serviceStateSchema = z.enum(['OK', 'FAILING']);
export const providerServiceNameSchema = z.enum(providerServices);

const since =
  'The time since which the provider is asked less (`HELD_BACK`) or one of its services fails (`FAILING`); null otherwise.';

export const providerServiceSchema = z
  .object({
    name: field(providerServiceNameSchema, 'The service of the provider.', 'CLEARANCES'),
    state: field(serviceStateSchema, 'The state of the service: `FAILING` if its last answers were faults.', 'OK'),
    since: timeOrNullField('The time since which the service fails; null if it does not.', null),
    reason: field(reasonSchema.nullable(), 'The reason of the last fault; null if the service does not fail.', null),
  })
  .meta({
    id: 'ProviderServiceState',
    description: 'A service of a provider, with its state: services of one provider fail apart.',
  });

export const providerBrandSchema = z
  .object({
    id: field(z.string(), 'The id of the manufacturer, such as `bmw`.', 'bmw'),
    state: field(
      providerStateSchema,
      'The availability of the provider for questions about vehicles of the manufacturer.',
      'OK',
    ),
    since: timeOrNullField(since, null),
  })
  .meta({
    id: 'ProviderBrand',
    description: 'A manufacturer that a provider answers for, with the state of the gateway’s questions about it.',
  });

const sinceWhen = (what: string) =>
  `The time since which the first program of a contract has waited to be ${what}; null if none waits.`;

export const providerContractsSchema = z
  .object({
    toActivate: field(
      z.int(),
      `The number of vehicles’ programs that contracts need and that are not active yet, each program of each vehicle counted, up to ${MOST_WAITING_PROGRAMS.toLocaleString('en')}.`,
      12,
    ),
    activatingSince: timeOrNullField(sinceWhen('activated'), '2027-01-01T00:00:00.000Z'),
    toRevoke: field(
      z.int(),
      'The number of vehicles’ programs that no contract needs any more and whose end the manufacturer has not confirmed, each program of each vehicle counted.',
      0,
    ),
    revokingSince: timeOrNullField(sinceWhen('revoked'), null),
  })
  .meta({
    id: 'ProviderContracts',
    description:
      'The contracts that wait for a provider to activate or end them, counted in vehicles’ programs at the manufacturer: a contract needs one or several of its vehicle.',
  });

export const providerSchema = z
  .object({
    name: field(z.string(), 'The name of the provider, the service that answers for manufacturers.', 'high-mobility'),
    state: field(
      providerStateSchema,
      'The state of the provider: `HELD_BACK` if it failed several times in a row or asked for a pause, so that it is asked less for now; `FAILING` if one of its services fails; `NOT_CONFIGURED` if its settings were taken away, while contracts still name it.',
      'OK',
    ),
    since: timeOrNullField(since, null),
    askedLastMinute: field(z.int(), 'The number of the gateway’s questions to the provider in the last minute.', 42),
    oldestWaiting: timeOrNullField(
      'The time at which the vehicle was added that has waited longest for the provider’s first answer; null if none waits.',
      '2026-11-20T08:00:00.000Z',
    ),
    contracts: providerContractsSchema
      .nullable()
      .describe('The contracts that wait for the provider to activate or end them; null if it carries out none.'),
    services: z
      .array(providerServiceSchema)
      .describe('The services of the provider that the gateway uses; empty without its settings.'),
    brands: z
      .array(providerBrandSchema)
      .describe('The manufacturers whose vehicles the provider is asked about, each with its availability.'),
  })
  .meta({
    id: 'Provider',
    description:
      'A service that answers about vehicles for one or more manufacturers, with its state for all companies together.',
  });
export type ProviderStatus = z.output<typeof providerSchema>;
