import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { eventTypes } from '../core/events/event-data.ts';
import { type Event, type EventFilter, eventCursor, eventSchema, getEvent, listEvents } from '../core/events/events.ts';
import { MOST_EVENT_TYPES } from '../core/events/record-events.ts';
import { field } from '../core/fields.ts';
import { followEvents } from '../core/following/follow-events.ts';
import { listSchema, readInput } from '../core/input.ts';
import { copierOf } from '../core/sql/selection.ts';
import { inSteps, listAnswer, listOf, readQuery } from './list.ts';
import { once, operations, type RestRequest, splitCommas } from './route.ts';

const scope = 'Where scopes are in use, events of contracts need `contracts:read` beside `fleets:read`.';
const filters = [
  'eventType',
  'eventFleetId',
  'eventHistory',
  'eventVin',
  'eventFrom',
  'eventTo',
  'since',
  'until',
] as const;

const shape = copierOf(eventSchema);

const typesQuery = z.object({
  type: z.preprocess(splitCommas, listSchema(z.enum(eventTypes), MOST_EVENT_TYPES).nullish()),
});
/** Reads types of events under the name of REST's parameter: answers name unknown types by themselves. */
export const readEventTypes = (type: unknown) => readInput(typesQuery, { type }).type;

function readFilter(request: RestRequest): EventFilter {
  const { type, ...rest } = readQuery(request);
  return { ...rest, types: readEventTypes(type) };
}

/** Accepts an event's id as cursor: receivers of webhooks know it. */
const withCursor = (request: RestRequest): RestRequest => {
  const { after } = request.query;
  return typeof after === 'string' ? { ...request, query: { ...request.query, after: eventCursor(after) } } : request;
};

/** Clients come back after this time, with a token that is checked again. */
const LONGEST_MS = 15 * 60_000;

/** Browsers send `id` back as Last-Event-ID. */
const frameOf = (one: Event) => `id: ${one.id}\nevent: ${one.type}\ndata: ${JSON.stringify(shape(one))}\n\n`;

const { get } = operations('Events', { resource: eventSchema, missing: 'NOT_FOUND' });

export const eventRoutes = [
  get('/events', 'listEvents', {
    summary: 'List events',
    description: `Lists the events of the company, oldest first. \`after\` also takes an event’s id: reading on from the last known event misses none. ${scope}`,
    query: [...filters, 'limit', 'after'],
    answers: listOf('The events of the list or the page.', eventSchema),
    errors: ['PAYLOAD_TOO_LARGE'],
    answer(ctx, request) {
      const filter = readFilter(request);
      const read = inSteps((page) => listEvents(ctx, { page, filter }), shape);
      return listAnswer(withCursor(request), read);
    },
  }),
  get('/events/stream', 'streamEvents', {
    summary: 'Follow events',
    description: `Streams the events of the company as server-sent events, each with its id, its type and the Event as JSON. With \`Last-Event-ID\` (or \`after\`) the stream continues after that event and misses none; otherwise it begins now. It ends after 15 minutes, and clients open it again. ${scope}`,
    query: [...filters, 'after'],
    answers: {
      200: {
        description: 'The events as they happen.',
        schema: field(
          z.string(),
          'A stream of server-sent events.',
          'id: 019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b\nevent: fleet.created\ndata: {"type":"fleet.created"}\n\n',
        ),
        type: 'text/event-stream',
      },
    },
    errors: ['FLEET_NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
    async answer(ctx, request) {
      const signal = request.closed(LONGEST_MS);
      const { after } = readInput(z.object({ after: once }), request.query);
      const from = request.header('Last-Event-ID') || after;
      const events = await followEvents(ctx, { after: from, filter: readFilter(request) }, signal);
      return eventStream(ctx, events, signal, frameOf);
    },
  }),
  get('/events/:id', 'getEvent', {
    summary: 'Get an event',
    description: `Returns an event, as long as it is kept. ${scope}`,
    answers: { 200: 'The event with this id.' },
    result: (ctx, { params }) => getEvent(ctx, params),
  }),
];

/** The interval of comments, which keep the connection open and show when the reader has disconnected. */
const BEAT_MS = 15_000;

/** Server-sent events until the end of `items` or of `signal`: each as `frameOf` writes it, once for all followers of an item. */
export function eventStream<T extends object>(
  { services: { followers } }: Context,
  items: AsyncGenerator<T>,
  signal: AbortSignal,
  frameOf: (item: T) => string,
) {
  const bytesOf = (item: T) => followers.textOf(item, 'frame', () => Buffer.from(frameOf(item)));

  async function* framed(): AsyncGenerator<string | Buffer> {
    yield 'retry: 2000\n\n';
    let next = items.next();
    try {
      while (!signal.aborted) {
        const beat = Promise.withResolvers<'beat'>();
        const timer = setTimeout(() => beat.resolve('beat'), BEAT_MS);
        const result = await Promise.race([next, beat.promise]).finally(() => clearTimeout(timer));
        if (result !== 'beat' && result.done) return;
        yield result === 'beat' ? ':\n\n' : await bytesOf(result.value);
        if (result !== 'beat') next = items.next();
      }
    } finally {
      // The remaining items are not awaited, so that they may release what they hold.
      next.catch(() => {});
      items.return(undefined).catch(() => {});
    }
  }
  return { stream: { type: 'text/event-stream', pieces: framed() } };
}
