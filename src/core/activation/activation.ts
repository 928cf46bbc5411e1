import { z } from 'zod';
import { reason, reasonCodes } from '../../manufacturers/index.ts';
import { field, timeField, timeOrNullField } from '../fields.ts';
import { reasonSchema } from '../reason.ts';
import type { ResourceField } from '../sql/resource.ts';
import { jsonSql, reasonJsonMembers } from '../sql/selection.ts';

export const activationStates = [
  ...(['SCHEDULED', 'PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED', 'UNSUPPORTED', 'OFF'] as const),
] as const;
export const activationStateSchema = z.enum(activationStates);
export type ActivationState = z.output<typeof activationStateSchema>;

export const activationSchema = z
  .object({
    state: field(activationStateSchema, 'The state of the contract at the manufacturer.', 'ACTIVE'),
    reason: field(reasonSchema.nullable(), 'The reason for the contract’s state; null if the state needs none.', null),
    changedAt: timeField('The time since which the contract has this state and reason.', '2027-01-01T00:00:03.000Z'),
    nextAttemptAt: timeOrNullField(
      'The time at which the manufacturer is asked next about the contract; null if it is not asked, or is being asked now.',
      null,
    ),
  })
  .meta({
    id: 'ContractActivation',
    description:
      'The state of a contract at the manufacturer. A contract that needs several of its programs has the worst of their states.',
  });

/** A contract that has not begun, and one that ended without the manufacturer, go by the clock. */
export const activationStateSql = `case when clock.now < c.starts_at then 'SCHEDULED'
  when clock.now >= c.ends_at and c.activation in ('OFF', 'UNSUPPORTED') then 'ENDED' else c.activation end`;

const IS_WAITING = `c.activation in ('PENDING', 'ENDING') and clock.now >= c.starts_at`;
const endNotConfirmed = reason(
  'END_NOT_CONFIRMED',
  'The end was ordered, and the manufacturer has not confirmed it yet. It is asked again until it does.',
);
/** A contract that is ending always says why it is not over. */
const REASON = `coalesce(c.activation_reason, case when c.activation = 'ENDING' then '${JSON.stringify(endNotConfirmed)}'::jsonb end)`;
const HAS_REASON = `${REASON} is not null and clock.now >= c.starts_at
  and not (clock.now >= c.ends_at and c.activation = 'UNSUPPORTED')`;

/** The programs of a contract `c`, in the rows of `activation` for the VIN of its vehicle `v`. */
export const programsOfContract = (a: string, c: string, vin: string) =>
  `${a}.company = ${c}.company and ${a}.vin = ${vin} and ${a}.provider = ${c}.provider and ${a}.program = any(${c}.programs)`;

/** The reason that the contract shows, as JSON; null without one. */
export const activationReasonJsonSql = `case when ${HAS_REASON} then ${REASON} end`;
/** The reason's code as an enumeration, so that `OTHER` finds what another version stored. */
export const activationReasonSql = `case when ${HAS_REASON} then ${jsonSql.known(`(${REASON} ->> 'code')`, reasonCodes).sql} end`;

export const activationActorSql = `(${REASON} ->> 'actor')`;

/** A contract without a provider is planned at once. */
export const activationNextSql = `case when ${IS_WAITING} then case when c.provider is null then greatest(c.starts_at, c.created_at) else (select min(na.due_at) from activation na
  where ${programsOfContract('na', 'c', 'cv.vin')} and na.claimed_by is null) end end`;

export const activationJson = {
  state: jsonSql.code(activationStateSql),
  reason: { sql: `case when ${HAS_REASON} then ${REASON}::text else 'null' end` },
  changedAt: jsonSql.time('coalesce(c.activation_changed_at, c.created_at)'),
  nextAttemptAt: jsonSql.orNull(jsonSql.time(activationNextSql)),
};

export const activationField: ResourceField = {
  kind: 'object',
  members: activationJson,
  fields: {
    reason: { kind: 'object', unless: `not (${HAS_REASON})`, members: reasonJsonMembers(REASON) },
  },
};
