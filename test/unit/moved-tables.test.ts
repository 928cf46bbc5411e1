import { expect, test } from 'vitest';
import { movedTables } from '../../src/core/moves/moved-tables.ts';
import { entities } from '../../src/entities/index.ts';

test('every table of companies goes with a company that moves, or is known to stay', () => {
  const names = entities.map(({ meta: { tableName } }) => tableName);
  const others = ['rate_use', 'worker', 'process'];
  const staying = ['placement', 'schedule', 'import_batch'];
  expect([...movedTables, ...staying, ...others].toSorted()).toEqual(names.toSorted());
  expect(movedTables.toSorted()).toEqual([
    ...['activation', 'activity', 'company', 'contract', 'deleted_contract', 'delivery', 'event', 'fleet', 'history'],
    ...['idempotency_key', 'import', 'import_rejection', 'vehicle', 'vehicle_tally', 'webhook'],
  ]);
});
