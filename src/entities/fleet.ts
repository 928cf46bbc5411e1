import { defineEntity, p } from '@mikro-orm/core';
import { belongsTo, json, lengthOf, refersTo, texts, time } from './columns.ts';

export const Fleet = defineEntity({
  name: 'Fleet',
  tableName: 'fleet',
  indexes: [
    // Without a token, a fleet's id finds its company.
    { name: 'fleet_by_hash', properties: ['id'], type: 'hash' },
    { name: 'fleet_being_deleted', properties: ['company', 'id'], where: 'deletion IS NOT NULL' },
    // By code points: the order of names, and what prefixes are looked up by.
    { name: 'fleet_by_name', expression: 'create index fleet_by_name on fleet (company, name collate "C", id)' },
    { name: 'fleet_by_vehicle_count', properties: ['company', 'vehicleCount', 'id'] },
    { name: 'fleet_by_attention_count', properties: ['company', 'attentionCount', 'id'] },
  ],
  properties: {
    company: p.text().primary().check(`company <> ''`),
    id: p.uuid().primary(),
    name: p.text().check(lengthOf('name', 255)),
    companyAddress: p.text().check(lengthOf('company_address', 255)),
    email: p.text(),
    vat: p.text().check(lengthOf('vat', 255)),
    createdAt: time(),
    updatedAt: time(),
    /** Sums of its tallies, right where all of them are `counted`: by these, fleets are sorted. */
    vehicleCount: p.integer().default(0),
    attentionCount: p.integer().default(0),
    /** The actor of its deletion, while its vehicles are being deleted. */
    deletion: json<{ actor: string; request_id: string | null }>().nullable(),
  },
});

export const eligibilityStatuses = ['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'] as const;
/** Vehicles that share no data until somebody acts. */
export const attentionStatuses = ['INELIGIBLE', 'UNSUPPORTED', 'FAILED'] as const;
export const dataDeliveries = ['PULL', 'PUSH'] as const;
export const connectivityStatuses = ['ACTIVATED', 'DEACTIVATED', 'UNKNOWN'] as const;
/** Who must act before a reason no longer holds. */
export const actors = ['CUSTOMER', 'DRIVER', 'MANUFACTURER', 'OPERATOR', 'NONE'] as const;
export type StoredReason = { code: string; message: string; actor: (typeof actors)[number]; retryable: boolean };

export const Vehicle = defineEntity({
  name: 'Vehicle',
  tableName: 'vehicle',
  uniques: [{ name: 'vehicle_vin', properties: ['company', 'vin'] }],
  indexes: [
    { name: 'vehicle_by_fleet', properties: ['company', 'fleetId', 'id'] },
    // Filters find few vehicles of the company, or of a fleet (`seeks` in core/vehicles/vehicles.ts).
    { name: 'vehicle_by_status', properties: ['company', 'status', 'fleetId', 'manufacturer'] },
    {
      name: 'vehicle_by_reason',
      expression: `create index vehicle_by_reason on vehicle (company, (reason ->> 'actor'), (reason ->> 'code'), fleet_id) where reason is not null`,
    },
    { name: 'vehicle_by_vin_end', expression: 'create index vehicle_by_vin_end on vehicle (company, reverse(vin))' },
    { name: 'vehicle_by_vin', properties: ['company', 'fleetId', 'vin'] },
    // Vehicles without an answer come last.
    {
      name: 'vehicle_by_verified',
      expression: `create index vehicle_by_verified on vehicle (company, coalesce(verified_at, 'infinity'::timestamptz), id)`,
    },
    {
      name: 'vehicle_of_fleet_by_verified',
      expression: `create index vehicle_of_fleet_by_verified on vehicle (company, fleet_id, coalesce(verified_at, 'infinity'::timestamptz), id)`,
    },
    { name: 'vehicle_due_by_company', properties: ['company', 'dueAt'], where: 'due_at IS NOT NULL' },
    // Invented answers: a start with a real provider is refused (core/activation/sandbox-apart.ts).
    { name: 'vehicle_of_sandbox', properties: ['company', 'id'], where: `provider = 'sandbox'::text` },
    // Programs at manufacturers belong to the gateway's account: a contract of any company may need one.
    { name: 'vehicle_by_vin_hash', properties: ['vin'], type: 'hash' },
    // Claims of a dead process, of whatever companies.
    { name: 'vehicle_by_claim', properties: ['claimedBy'], where: 'claimed_by IS NOT NULL' },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid().persist(false),
    // vehicle_tally has the foreign key: checked for each vehicle it would be too slow (docs/decisions/imports.md).
    fleet: () => refersTo(Fleet, 'fleet_id').createForeignKeyConstraint(false),
    vin: p.text().collation('C').check(`vin ~ '^[A-HJ-NPR-Z0-9]{17}$'::text`),
    /** The brand's slug: by the VIN at first, then as the manufacturer confirmed. */
    manufacturer: p.text().nullable(),
    warnings: texts().default([]),
    createdAt: time(),
    status: p.enum(eligibilityStatuses).default('PENDING'),
    dataDelivery: texts<(typeof dataDeliveries)[number]>().default([]),
    connectivityStatus: p.enum(connectivityStatuses).nullable(),
    primaryUserAssigned: p.boolean().nullable(),
    /** Why the status is what it is, or why the last attempt gave no answer. */
    reason: json<StoredReason>().nullable(),
    /** Questions for the present answer. */
    attempts: p.integer().default(0),
    /** Consecutive questions without an answer. */
    faults: p.integer().default(0),
    verifiedAt: time().nullable(),
    /** When this row needs work; while it is claimed, when the claim ends. */
    dueAt: time().nullable(),
    claimedBy: p.uuid().nullable(),
    /** The provider's last answer as it came, for support. */
    rawAnswer: json<unknown>().nullable(),
    /** The provider that gave the answer; null where none did, and for answers from before 27 November 2026. */
    provider: p.text().nullable(),
  },
});

/** Vehicles of a fleet by status, as a sum of small changes: all writers would wait for the slowest of one counter. */
export const VehicleTally = defineEntity({
  name: 'VehicleTally',
  tableName: 'vehicle_tally',
  indexes: [
    { name: 'vehicle_tally_by_fleet', properties: ['company', 'fleetId', 'status'], include: ['delta'] },
    { name: 'vehicle_tally_uncounted', properties: ['company', 'fleetId'], where: 'NOT counted' },
  ],
  properties: {
    company: p.text().primary(),
    id: p.bigint().primary().autoincrement().columnType('bigint').generated('by default as identity'),
    fleetId: p.uuid().persist(false),
    fleet: () => belongsTo(Fleet, 'fleet_id'),
    status: p.text(),
    delta: p.integer(),
    /** Whether the sums in the fleet include this change. */
    counted: p.boolean().default(false),
  },
});

const contractActivations = [
  ...(['OFF', 'PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED', 'UNSUPPORTED'] as const),
] as const;

/** A vehicle's place in a manufacturer program: a pack for the period [startsAt, endsAt). */
export const Contract = defineEntity({
  name: 'Contract',
  tableName: 'contract',
  // Without a token, a contract's id is looked up alone.
  indexes: [
    { name: 'contract_by_hash', properties: ['id'], type: 'hash' },
    { name: 'contract_by_fleet', properties: ['company', 'fleetId', 'id'] },
    { name: 'contract_by_vehicle', properties: ['company', 'vehicleId', 'id'] },
    { name: 'contract_by_name', properties: ['company', 'foldedName', 'id'] },
    { name: 'contract_by_start', properties: ['company', 'startsAt', 'id'] },
    { name: 'contract_of_fleet_by_start', properties: ['company', 'fleetId', 'startsAt', 'id'] },
    { name: 'contract_by_end', properties: ['company', 'endsAt', 'id'] },
    { name: 'contract_of_fleet_by_end', properties: ['company', 'fleetId', 'endsAt', 'id'] },
    { name: 'contract_by_activation', properties: ['company', 'activation', 'id'] },
    { name: 'contract_due_by_company', properties: ['company', 'dueAt'], where: 'due_at IS NOT NULL' },
  ],
  checks: [
    { name: 'contract_period', expression: 'starts_at < ends_at' },
    {
      name: 'contract_no_overlap',
      expression: 'EXCLUDE USING gist (vehicle_id WITH =, pack WITH =, tstzrange(starts_at, ends_at) WITH &&)',
    },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid().persist(false),
    fleet: () => belongsTo(Fleet, 'fleet_id'),
    vehicleId: p.uuid().persist(false),
    vehicle: () => belongsTo(Vehicle, 'vehicle_id'),
    name: p.text().check(lengthOf('name', 255)),
    /** Without case and accents, for searching. */
    foldedName: p.text().collation('C').generated('(folded(name)) stored').nullable(),
    description: p.text().check(lengthOf('description', 2000)),
    pack: p.text().check(lengthOf('pack', 255)),
    startsAt: time(),
    endsAt: time(),
    createdAt: time(),
    /** When its next event comes due: its start, then its end, then never. */
    dueAt: time().nullable(),
    /** The state at the manufacturer; before the start and after the end, the clock counts, too (core/activation/activation.ts). */
    activation: p.enum(contractActivations).default('OFF'),
    activationReason: json<StoredReason>().nullable(),
    activationChangedAt: time().nullable(),
    /** The provider that carries it out, and the programs that its pack needs there, from its start on. */
    provider: p.text().nullable(),
    programs: texts().default([]),
    /** Whether it was active, and no event has said since that it is not. */
    wasActive: p.boolean().default(false),
  },
});
