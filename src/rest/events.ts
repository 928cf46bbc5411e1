import { z } from 'zod';
import { type Event, type EventFilter, event, eventCursor, getEvent, listEvents } from '../core/events/events.ts';
import { followEvents } from '../core/following/follow-events.ts';
import { readInput } from '../core/input.ts';
import { shapeOf } from '../core/sql/selection.ts';
import { eventStream } from './event-stream.ts';
import { eventDocs } from './openapi/events.ts';
import { commaList, inSteps, jsonPageOf, listAnswer, once, pathWith, type RestRequest, type Route } from './route.ts';

const shape = shapeOf(event);

const eventQuery = z.object({
  type: commaList,
  fleetId: once,
  vin: once,
  since: once,
  until: once,
});

function readFilter({ query }: RestRequest): EventFilter {
  const { type, ...rest } = readInput(eventQuery, query);
  return { ...rest, types: type };
}

/** An event's id is as good as its cursor: receivers of webhooks know it. */
const withCursor = (request: RestRequest): RestRequest => {
  const { after } = request.query;
  return typeof after === 'string' ? { ...request, query: { ...request.query, after: eventCursor(after) } } : request;
};

/** Then the client comes back by itself, from where it was, and its token is looked at again. */
const LONGEST_MS = 15 * 60_000;

/** `id` is what the browser sends back as Last-Event-ID. */
const frame = (one: Event) => `id: ${one.id}\nevent: ${one.type}\ndata: ${JSON.stringify(shape(one))}\n\n`;

export const eventRoutes: Route[] = [
  {
    method: 'GET',
    path: '/events',
    scope: 'fleets:read',
    docs: eventDocs.list,
    answer(ctx, request) {
      const filter = readFilter(request);
      const read = inSteps(async (page) => jsonPageOf(await listEvents(ctx, { page, filter }), shape));
      return listAnswer(withCursor(request), pathWith('/events', request, eventQuery), read);
    },
  },
  {
    method: 'GET',
    path: '/events/stream',
    scope: 'fleets:read',
    docs: eventDocs.stream,
    async answer(ctx, request) {
      const signal = request.closed(LONGEST_MS);
      const { after } = readInput(z.object({ after: once }), request.query);
      const from = request.header('Last-Event-ID') || after;
      const events = await followEvents(ctx, { after: from, filter: readFilter(request) }, signal);
      return eventStream(request, events, signal, frame);
    },
  },
  {
    method: 'GET',
    path: '/events/:id',
    scope: 'fleets:read',
    docs: eventDocs.get,
    answer: async (ctx, { params }) => ({ status: 200, body: shape(await getEvent(ctx, { id: params.id ?? '' })) }),
  },
];
