import { defineEntity, p } from '@mikro-orm/core';
import { json, texts, time } from './columns.ts';
import type { StoredReason } from './fleet.ts';

const programStates = ['PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED'] as const;

/**
 * A manufacturer's program for a vehicle: what the contracts want of it, and how it stands at the provider. It outlives
 * its contracts, since it must be ended after them, and goes some looks after the provider has confirmed the end.
 */
export const Activation = defineEntity({
  name: 'Activation',
  tableName: 'activation',
  uniques: [{ name: 'activation_program', properties: ['company', 'vin', 'provider', 'program'] }],
  indexes: [
    { name: 'activation_due_by_company', properties: ['company', 'dueAt'], where: 'due_at IS NOT NULL' },
    { name: 'activation_by_claim', properties: ['claimedBy'], where: 'claimed_by IS NOT NULL' },
    // Programs belong to the gateway's account at the provider, so another company may want the same one.
    { name: 'activation_by_vin', properties: ['vin'] },
    { name: 'activation_of_sandbox', properties: ['company', 'vin'], where: `provider = 'sandbox'::text` },
    {
      name: 'activation_waiting',
      properties: ['changedAt'],
      where: `((state = ANY (ARRAY['PENDING'::text, 'ENDING'::text])) OR (NOT wanted))`,
    },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    vin: p.text().collation('C'),
    provider: p.text(),
    /** Empty where a provider has one program for a vehicle. */
    program: p.text(),
    /** The brand by which the provider was asked; at first, the vehicle's. */
    brand: p.text(),
    /** Whether a contract in force needed the program when the row was last claimed, or since. */
    wanted: p.boolean().default(true),
    /** Whether the provider may have been asked for the program. */
    asked: p.boolean().default(false),
    /** Whether the program is to be asked for, or ended, whatever the provider's list says: what is wanted has changed since. */
    renewed: p.boolean().default(false),
    state: p.enum(programStates).default('PENDING'),
    reason: json<StoredReason>().nullable(),
    /** Since when the state is what it is; where the program is not wanted, since when not. */
    changedAt: time(),
    /** Answers that left the state as it was, and consecutive questions without an answer. */
    looks: p.integer().default(0),
    faults: p.integer().default(0),
    /** When this row needs work; while it is claimed, when the claim ends. */
    dueAt: time().nullable(),
    claimedBy: p.uuid().nullable(),
    /** Whether contracts changed while the row was claimed: it is due again when its answer is stored. */
    touched: p.boolean().default(false),
    /** When the provider last said how the program stands without being told to change it, and when the program was last to be ended. */
    lookedAt: time().nullable(),
    endedAt: time().nullable(),
    /** The provider's last answer as it came, for support. */
    rawAnswer: json<unknown>().nullable(),
  },
});

/** A deleted contract that was active, until the provider has confirmed the end of its programs. */
export const DeletedContract = defineEntity({
  name: 'DeletedContract',
  tableName: 'deleted_contract',
  indexes: [{ name: 'deleted_contract_by_vin', properties: ['company', 'vin'] }],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid(),
    vehicleId: p.uuid(),
    vin: p.text().collation('C'),
    provider: p.text(),
    programs: texts(),
    /** The data of the contract's last event. */
    data: json<Record<string, unknown>>(),
  },
});
