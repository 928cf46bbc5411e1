import { z } from 'zod';
import { event } from '../../core/events/events.ts';
import { field } from '../../core/fields.ts';
import type { RouteDocs } from './route-docs.ts';

const scope = 'Where scopes are in use, events of contracts need `contracts:read` beside `fleets:read`.';
const filters = ['eventType', 'eventFleetId', 'eventVin', 'since', 'until'] as const;

export const eventDocs = {
  list: {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description: `What happened in the company, oldest first. \`after\` takes an event’s id, too: reading on from the last event you know misses none. ${scope}`,
    query: [...filters, 'limit', 'after'],
    answers: { 200: { description: 'The events.', schema: z.array(event), headers: ['Link'] } },
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
    answers: { 200: { description: 'The event.', schema: event } },
    errors: ['NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
