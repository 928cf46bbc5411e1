import { z } from 'zod';
import { eventTypes } from '../../core/events/record-events.ts';
import { field } from '../../core/fields.ts';
import type { RouteDocs } from './route-docs.ts';

const id = '019aa1b2-9e5f-7061-8c8d-2e3f4a5b6c7d';

export const eventJson = z
  .object({
    id: field(z.uuid(), 'Identifies the event; the `webhook-id` of its deliveries.', id),
    type: field(z.enum(eventTypes), 'What happened.', 'eligibility.changed'),
    timestamp: field(z.iso.datetime(), 'When.', '2026-11-20T08:00:00.000Z'),
    company: field(z.string(), 'Whose event it is.', 'acme'),
    fleetId: field(z.uuid().nullable(), 'The fleet it is about, if any.', '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b'),
    contractId: field(z.uuid().nullable(), 'The contract it is about, if any.', null),
    vehicles: field(
      z.array(z.object({ id: z.uuid(), vin: z.string() })),
      'The vehicles it is about, at most 1,000: more make several events.',
      [{ id: '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c', vin: 'WBA3A5C50CF256985' }],
    ),
    vehicleCount: field(z.int(), 'How many vehicles it is about.', 1),
    actor: field(z.string(), 'Who did it: the subject of the token, `anonymous` or `system`.', 'system'),
    requestId: field(z.string().nullable(), 'The request it happened in, if any.', null),
    data: field(z.record(z.string(), z.unknown()), 'What changed; its fields follow from the type.', {
      from: 'PENDING',
      to: 'ELIGIBLE',
      manufacturer: 'bmw',
      reason: null,
    }),
  })
  .meta({ id: 'Event', description: 'A fact, as it was when it became true.' });

const scope = 'Where scopes are in use, events of contracts need `contracts:read` beside `fleets:read`.';
const filters = ['eventType', 'eventFleetId', 'eventVin', 'since', 'until'] as const;

export const eventDocs = {
  list: {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description: `What happened in the company, oldest first. \`after\` takes an event’s id, too: reading on from the last event you know misses none. ${scope}`,
    query: [...filters, 'limit', 'after'],
    answers: { 200: { description: 'The events.', schema: z.array(eventJson), headers: ['Link'] } },
    errors: ['PAYLOAD_TOO_LARGE'],
  },
  stream: {
    operationId: 'streamEvents',
    tag: 'Events',
    summary: 'Follow events',
    description: `Server-sent events, each with its id, its type and the Event as JSON. With \`Last-Event-ID\` (or \`after\`) it goes on after that event and misses none; without, it begins now. It ends after 15 minutes: clients come back by themselves. ${scope}`,
    query: [...filters, 'after'],
    answers: {
      200: {
        description: 'The events as they come.',
        schema: field(
          z.string(),
          'Server-sent events.',
          'id: 019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b\nevent: fleet.created\ndata: {"type":"fleet.created"}\n\n',
        ),
        type: 'text/event-stream',
      },
    },
    errors: ['FLEET_NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
  },
  get: {
    operationId: 'getEvent',
    tag: 'Events',
    summary: 'Get an event',
    description: `One event, as long as it is kept. ${scope}`,
    answers: { 200: { description: 'The event.', schema: eventJson } },
    errors: ['NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
