import { descriptionOf } from '../../core/fields.ts';
import { historyFilter, historyItem } from '../../core/reads/history.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addList, connectionType, pageArgs } from './connection.ts';
import { objectOf } from './described.ts';
import { EventConnection, EventType, typeAsStored } from './events.ts';
import { FleetRef } from './fleets.ts';
import { ImportRef } from './imports.ts';

const HistoryItemRef = objectOf('HistoryItem', historyItem, {
  type: typeAsStored,
  requestId: { type: 'String' },
  importId: {
    name: 'import',
    type: ImportRef,
    description: 'The import, where it is that of a file and still kept.',
    resolve: read,
  },
});
builder.objectField(HistoryItemRef, 'fleet', (t) =>
  t.field({
    type: FleetRef,
    nullable: true,
    description: 'The fleet it is about; null if it is about none, or the fleet is gone.',
    resolve: read,
  }),
);
addList('events', EventConnection, 'Its events, oldest first.', { of: HistoryItemRef });

addList(
  'history',
  connectionType('History', HistoryItemRef),
  'What happened in the company as people see it, the latest first: a file, a list, a move, a contract, or what manufacturers answered in an hour is one item each. Errors: VALIDATION_FAILED.',
  {
    args: builder.args((t) => ({
      ...pageArgs,
      fleetId: t.id({ description: descriptionOf(historyFilter.shape.fleetId) }),
      types: t.field({ type: [EventType], description: 'Only items of one of these types.' }),
    })),
  },
);
