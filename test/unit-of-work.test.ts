import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IdempotencyKey, RateUse } from '../src/entities/company.ts';
import { Delivery, Event, Webhook } from '../src/entities/event.ts';
import { Contract, Fleet, Vehicle, VehicleTally } from '../src/entities/fleet.ts';
import { Import, ImportBatch, ImportRejection } from '../src/entities/import.ts';
import { testDatabase } from './support/database.ts';

const { database } = await testDatabase({ usualSession: true });
const em = () => database.orm.em.fork();

const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const at = new Date('2026-03-01T12:00:00.120Z');
const later = new Date('2027-03-01T12:00:00.120Z');
const reason = { code: 'NO_CONSENT', message: 'No "consent".', actor: 'CUSTOMER', retryable: false } as const;

describe('arrays', () => {
  // Texts with a meaning in arrays, statements or JSON, and any other text that PostgreSQL can store.
  const telling = fc.constantFrom(
    ...[
      'NULL',
      'null',
      'nUll',
      '',
      ' ',
      '\t',
      '\v',
      '\f',
      '\u00a0',
      '\n',
      '\r\n',
      '"',
      "'",
      '\\',
      '\\n',
      '{',
      '}',
      ',',
      '?',
      '??',
      ':a',
      '$1',
      '{}',
    ],
  );
  const anything = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));
  const text = fc
    .array(fc.oneof(telling, anything), { maxLength: 4 })
    .map((parts) => parts.join(''))
    .filter((whole) => whole.isWellFormed());
  const row = fc.record({
    rows: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
    vins: fc.array(text),
    manufacturers: fc.array(fc.option(text)),
    supported: fc.array(fc.boolean()),
  });

  test('are stored and read unchanged, when created or changed, alone or in batches', async () => {
    let last = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(row, row), { minLength: 1, maxLength: 3 }), async (batches) => {
        last += 1;
        const upload = id(last);
        const key = { importId: upload };
        const read = () => em().find(ImportBatch, key, { orderBy: { firstRow: 'asc' } });
        const given = (which: 0 | 1) => batches.map((one) => expect.objectContaining(one[which]));

        const creating = em();
        const reference = creating.getReference(Import, ['acme', upload]);
        for (const [firstRow, [before]] of batches.entries()) {
          creating.create(ImportBatch, { import: reference, firstRow, ...before });
        }
        await creating.flush();
        expect(await read()).toEqual(given(0));

        const changing = em();
        const found = await changing.find(ImportBatch, key, { orderBy: { firstRow: 'asc' } });
        for (const [place, batch] of found.entries()) changing.assign(batch, batches[place]?.[1] ?? {});
        await changing.flush();
        expect(await read()).toEqual(given(1));
      }),
      { numRuns: 60 },
    );
  });

  test('that are read and not changed are not written', async () => {
    const reading = em();
    const batches = await reading.find(ImportBatch, {}, { limit: 20 });
    expect(batches).not.toEqual([]);
    const unit = reading.getUnitOfWork();
    unit.computeChangeSets();
    expect(unit.getChangeSets()).toEqual([]);
  });
});

test('a row of every table can be created, read, changed and removed', async () => {
  const creating = em();
  const company = 'acme';
  const fleet = creating.create(Fleet, {
    id: id(1),
    company,
    name: 'n',
    companyAddress: 'a',
    email: 'e',
    vat: 'v',
    createdAt: at,
    updatedAt: at,
  });
  creating.create(VehicleTally, { company, fleet, status: 'PENDING', delta: 1 });
  const vehicle = creating.create(Vehicle, {
    id: id(2),
    company,
    fleet,
    vin: 'WBA00000000000001',
    createdAt: at,
    reason,
    rawAnswer: [1, { a: null }],
  });
  creating.create(Contract, {
    id: id(3),
    company,
    fleet,
    vehicle,
    name: 'n',
    description: 'd',
    pack: 'p',
    startsAt: at,
    endsAt: later,
    createdAt: at,
  });
  const upload = creating.create(Import, { id: id(4), company, fleet, mode: 'atomic', dryRun: true, startedAt: at });
  creating.create(ImportRejection, { import: upload, row: 7, value: 'v', code: 'c', message: 'm', cells: ['a', 'b'] });
  creating.create(IdempotencyKey, { company, key: 'k', request: 'r', headers: { a: 'b' }, createdAt: at });
  const event = creating.create(Event, {
    company,
    type: 'fleet.created',
    actor: 'system',
    at,
    vehicleIds: [id(2)],
    data: { a: [1] },
  });
  const webhook = creating.create(Webhook, {
    id: id(5),
    company,
    url: 'u',
    secret: 's',
    heldFrom: 9007199254740993n,
    createdAt: at,
    updatedAt: at,
  });
  creating.create(Delivery, { company, webhook, event, createdAt: at });
  creating.create(RateUse, { who: company, minute: at, points: 1 });
  await creating.flush();

  const reading = em();
  expect(await reading.findOneOrFail(Vehicle, { company, vin: vehicle.vin })).toMatchObject({
    fleetId: id(1),
    status: 'PENDING',
    warnings: [],
    claimedBy: null,
    attempts: 0,
    dueAt: null,
    createdAt: at,
    reason,
    rawAnswer: [1, { a: null }],
  });
  expect(await reading.findOneOrFail(Contract, { fleetId: id(1) }, { populate: ['vehicle'] })).toMatchObject({
    vehicleId: id(2),
    startsAt: at,
    endsAt: later,
    vehicle: { $: { vin: vehicle.vin } },
  });
  expect(await reading.findOneOrFail(Import, { company, id: id(4) })).toMatchObject({
    state: 'RUNNING',
    duplicates: [],
    delimiter: ',',
  });
  expect(await reading.findOneOrFail(ImportRejection, { importId: id(4), row: 7 })).toMatchObject({
    cells: ['a', 'b'],
  });
  expect(await reading.findOneOrFail(IdempotencyKey, { company, key: 'k' })).toMatchObject({ headers: { a: 'b' } });
  expect(await reading.findOneOrFail(Event, { company, id: event.id })).toMatchObject({
    seq: 1n,
    position: null,
    vehicleIds: [id(2)],
    vins: [],
    data: { a: [1] },
  });
  expect(await reading.findOneOrFail(Webhook, { company, id: id(5) })).toMatchObject({
    heldFrom: 9007199254740993n,
    types: [],
  });
  expect(await reading.findOneOrFail(Delivery, { eventId: event.id })).toMatchObject({ state: 'PENDING', once: false });
  expect(await reading.findOneOrFail(RateUse, { who: company })).toMatchObject({ minute: at, points: 1 });
  expect(await reading.findOneOrFail(VehicleTally, { fleetId: id(1) })).toMatchObject({ id: 1n, delta: 1 });

  reading.assign(await reading.findOneOrFail(Webhook, { company }), { types: ['contract.created'], state: 'PAUSED' });
  reading.remove(await reading.findOneOrFail(Delivery, { webhookId: id(5) }));
  reading.remove(await reading.findOneOrFail(IdempotencyKey, { company, key: 'k' }));
  reading.remove(await reading.findOneOrFail(RateUse, { who: company }));
  await reading.flush();
  expect(await em().findOneOrFail(Webhook, { company, id: id(5) })).toMatchObject({
    types: ['contract.created'],
    state: 'PAUSED',
  });
  expect(await em().count(Delivery)).toBe(0);
  expect(await em().nativeDelete(Vehicle, { company })).toBe(1);
  expect(await em().nativeDelete(Fleet, { company })).toBe(1);
  expect(await Promise.all([em().count(Vehicle), em().count(Contract), em().count(ImportRejection)])).toEqual([
    0, 0, 0,
  ]);
});
