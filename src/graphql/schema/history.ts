import { eventTypeOf } from '../../core/events/event-types.ts';
import { descriptionOf } from '../../core/fields.ts';
import { type HistoryItem, historyFilter, historyItem } from '../../core/reads/history.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { connectionType, pageArgs } from './connection.ts';
import { objectOf } from './described.ts';
import { EventConnection, EventType } from './events.ts';
import { FleetRef } from './fleet-type.ts';
import { ImportRef } from './imports.ts';

const HistoryItemRef = objectOf('HistoryItem', historyItem, {
  type: { type: EventType, resolve: ({ type }: HistoryItem) => eventTypeOf(type) },
  requestId: { type: 'String' },
  importId: false,
});

builder.objectFields(HistoryItemRef, (t) => ({
  fleet: t.field({
    type: FleetRef,
    nullable: true,
    description: 'The fleet it is about; null if it is about none, or the fleet is gone.',
    resolve: read,
  }),
  import: t.field({
    type: ImportRef,
    nullable: true,
    description: 'The import, where it is that of a file and still kept.',
    resolve: read,
  }),
  events: t.field({
    type: EventConnection,
    description: 'Its events, oldest first.',
    args: pageArgs,
    resolve: read,
  }),
}));

builder.queryField('history', (t) =>
  t.field({
    type: connectionType('History', HistoryItemRef),
    description:
      'What happened in the company as people see it, the latest first: a file, a list, a move, a contract, or what manufacturers answered in an hour is one item each. Errors: VALIDATION_FAILED.',
    args: {
      ...pageArgs,
      fleetId: t.arg.id({ description: descriptionOf(historyFilter.shape.fleetId) }),
      types: t.arg({ type: [EventType], description: 'Only items of one of these types.' }),
    },
    resolve: read,
  }),
);
