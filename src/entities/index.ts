import { Contract } from './contract.ts';
import { Delivery } from './delivery.ts';
import { Event } from './event.ts';
import { Fleet } from './fleet.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { Import, ImportBatch, ImportRejection } from './import.ts';
import { RateUse } from './rate-use.ts';
import { Vehicle } from './vehicle.ts';
import { VehicleTally } from './vehicle-tally.ts';
import { Webhook } from './webhook.ts';

/** Every table of the service. */
export const entities = [
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
  RateUse,
];
