import { expressionBuilder, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import { field } from '../fields.ts';
import { listOf, time } from '../input.ts';
import type { Tables } from '../sql/tables.ts';
import { eventTypes, MOST_TYPES } from './record-events.ts';

const vehicleId = '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c';

export const eventVehicle = z
  .object({ id: z.uuid().describe('Its id.'), vin: z.string().describe('Its VIN.') })
  .describe('A vehicle that an event is about; it may be gone by now.');

/** A fact as both interfaces and webhooks show it. Times are ISO 8601 UTC. */
export const event = z
  .object({
    id: field(
      z.uuid(),
      'Identifies the event; also where to go on from, as `after`, and the `webhook-id` of its deliveries.',
      '019aa1b2-9e5f-7061-8c8d-2e3f4a5b6c7d',
    ),
    type: field(z.enum(eventTypes), 'What happened.', 'eligibility.changed'),
    timestamp: field(z.iso.datetime(), 'When.', '2026-11-20T08:00:00.000Z'),
    company: field(z.string(), 'Whose event it is.', 'acme'),
    fleetId: field(
      z.uuid().nullable(),
      'The fleet it is about, if any, which may be gone by now.',
      '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b',
    ),
    contractId: field(z.uuid().nullable(), 'The contract it is about, if any, likewise.', null),
    vehicles: field(z.array(eventVehicle), 'The vehicles it is about, at most 1,000: more make several events.', [
      { id: vehicleId, vin: 'WBA3A5C50CF256985' },
    ]),
    vehicleCount: field(z.int(), 'How many vehicles it is about.', 1),
    actor: field(z.string(), 'Who did it: the subject of the token, `anonymous` or `system`.', 'system'),
    requestId: field(z.string().nullable(), 'The request it happened in, if any.', null),
    data: field(z.record(z.string(), z.unknown()), 'What changed; its members follow from the type.', {
      from: 'PENDING',
      to: 'ELIGIBLE',
      manufacturer: 'bmw',
      reason: null,
    }),
  })
  .meta({ id: 'Event', description: 'A fact, as it was when it became true.' });
export type Event = z.output<typeof event>;

export const eventFilter = z
  .object({
    types: listOf(
      z.enum(eventTypes, `must be one of ${eventTypes.join(', ')}`),
      MOST_TYPES,
      'must be a list of event types',
    )
      .nullish()
      .describe('Of one of these types.'),
    fleetId: z.string().nullish().describe('About this fleet or its vehicles.'),
    contractId: z.string().nullish().describe('About this contract.'),
    vehicleId: z.string().nullish().describe('About this vehicle.'),
    vin: z.string().nullish().describe('About the vehicle with this VIN, also from before it was last added.'),
    since: time.nullish().describe('From then on.'),
    until: time.nullish().describe('Before then.'),
  })
  .describe('Which events: those that fit everything that is given.');
/** A filter as it came in; `matching` judges it. */
export type EventFilter = Omit<z.input<typeof eventFilter>, 'types'> & { types?: readonly string[] | null | undefined };

/** Whether a webhook `w` wants an event `e`: the condition that decides of every delivery, but for tests, which go to one. */
export const wanted = sql<SqlBool>`(e.type <> 'webhook.test' and (w.types = '{}' or e.type = any(w.types)))`;

const { cast, val } = expressionBuilder<Tables>();

/** What is written of a delivery of an event `e` to a webhook `w`, due at once. */
export const deliveryColumns = ['company', 'webhook_id', 'event_id', 'due_at', 'created_at'] as const;
export const newDelivery = (now: Date | string) => {
  const time = cast<string>(val(now), 'timestamptz');
  return ['w.company', 'w.id as webhook_id', 'e.id as event_id', time.as('due_at'), time.as('created_at')] as const;
};
