import { Routine } from '@mikro-orm/core';
import { Activation, DeletedContract } from './activation.ts';
import { Company, GatewayProcess, IdempotencyKey, Placement, RateUse, Schedule, Worker } from './company.ts';
import { Activity, Delivery, Event, History, Webhook } from './event.ts';
import { Contract, Fleet, Vehicle, VehicleTally } from './fleet.ts';
import { Import, ImportBatch, ImportRejection } from './import.ts';

export const entities = [
  ...[Company, Fleet, Vehicle, VehicleTally, Contract, Activation, Import, ImportBatch, ImportRejection],
  ...[DeletedContract, IdempotencyKey, Event, History, Activity, Webhook, Delivery, Schedule, Worker, RateUse],
  ...[Placement, GatewayProcess],
];

const typedAs = { ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ł: 'l', ø: 'o', ı: 'i', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't' };
const typed = Object.entries(typedAs).reduce(
  (text, [letter, others]) => `replace(${text}, '${letter}', '${others}')`,
  `lower(regexp_replace(normalize(name, nfkd), '[\\u0300-\\u036f]', '', 'g'))`,
);
const foldedSql = `select regexp_replace(${typed}, '[ \\t\\n\\r\\f\\v]+', ' ', 'g')`;

export const routines = [
  new Routine({
    name: 'new_uuid',
    type: 'function',
    language: 'sql',
    returns: { columnType: 'uuid', runtimeType: 'string' },
    body: `select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
      || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`,
  }),
  // Names as people type them: without case and accents, some letters by others, one blank for several. The migration adds
  // the collation und-x-icu if the server has it, so bodies differ.
  new Routine({
    name: 'folded',
    type: 'function',
    language: 'sql',
    params: { name: { type: 'text' } },
    returns: { columnType: 'text', runtimeType: 'string' },
    body: foldedSql,
    ignoreSchemaChanges: ['body', 'deterministic'],
  }),
];
