import { Routine } from '@mikro-orm/core';
import { Activation } from './activation.ts';
import { Company, GatewayProcess, IdempotencyKey, Placement, RateUse, Schedule, Worker } from './company.ts';
import { Activity, Delivery, Event, History, Webhook } from './event.ts';
import { Contract, Fleet, Vehicle, VehicleTally } from './fleet.ts';
import { Import, ImportBatch, ImportRejection } from './import.ts';

export const entities = [
  ...[Company, Fleet, Vehicle, VehicleTally, Contract, Activation, Import, ImportBatch, ImportRejection],
  ...[IdempotencyKey, Event, History, Activity, Webhook, Delivery, Schedule, Worker, RateUse],
  ...[Placement, GatewayProcess],
];

export const routines = [
  new Routine({
    name: 'new_uuid',
    type: 'function',
    language: 'sql',
    returns: { columnType: 'uuid', runtimeType: 'string' },
    body: `select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
      || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`,
  }),
  // Names without case and accents. The migration adds the collation und-x-icu if the server has it, so bodies differ.
  new Routine({
    name: 'folded',
    type: 'function',
    language: 'sql',
    params: { name: { type: 'text' } },
    returns: { columnType: 'text', runtimeType: 'string' },
    body: `select lower(regexp_replace(normalize(name, nfkd), '[\\u0300-\\u036f]', '', 'g'))`,
    ignoreSchemaChanges: ['body', 'deterministic'],
  }),
];
