import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Fleet } from './fleet.ts';
import { Vehicle } from './vehicle.ts';

/** A vehicle's place in a manufacturer program: a pack for the period [startsAt, endsAt). */
export const Contract = defineEntity({
  name: 'Contract',
  tableName: 'contract',
  properties: {
    id: p.uuid().primary(),
    company: p.text(),
    fleet: () => p.manyToOne(Fleet).ref().deleteRule('cascade'),
    vehicle: () => p.manyToOne(Vehicle).ref().deleteRule('cascade'),
    name: p.text(),
    description: p.text(),
    pack: p.text(),
    startsAt: p.datetime(),
    endsAt: p.datetime(),
    createdAt: p.datetime(),
    /** When its next event comes due: its start, then its end, then never. */
    dueAt: p.datetime().nullable(),
  },
});
export type Contract = InferEntity<typeof Contract>;
