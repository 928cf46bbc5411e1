import { Routine } from '@mikro-orm/core';
import { Company, IdempotencyKey, RateUse, Schedule, Worker } from './company.ts';
import { Contract } from './contract.ts';
import { Event } from './event.ts';
import { Fleet } from './fleet.ts';
import { Import, ImportBatch, ImportRejection } from './import.ts';
import { Vehicle, VehicleTally } from './vehicle.ts';
import { Delivery, Webhook } from './webhook.ts';

/** Every table of the service. */
export const entities = [
  Company,
  Fleet,
  Vehicle,
  VehicleTally,
  Contract,
  Import,
  ImportBatch,
  ImportRejection,
  IdempotencyKey,
  Event,
  Webhook,
  Delivery,
  Schedule,
  Worker,
  RateUse,
];

/** The functions of the database, but for those of triggers. */
export const routines = [
  new Routine({
    name: 'new_uuid',
    type: 'function',
    language: 'sql',
    returns: { columnType: 'uuid', runtimeType: 'string' },
    body: `select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
      || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`,
  }),
];
