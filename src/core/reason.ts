import { z } from 'zod';
import { actors } from '../entities/fleet.ts';
import { reasonCodes } from '../manufacturers/provider.ts';
import { field } from './fields.ts';
import { type JsonMembers, jsonSql } from './sql/selection.ts';

export const actorSchema = z.enum(actors);

const OTHER = 'OTHER';
/** Codes as an enumeration. Another version of the gateway may have stored one that this version does not know. */
export const reasonCodeSchema = z.enum([...reasonCodes, OTHER]);
export const knownReasonCode = (code: string) => reasonCodeSchema.catch(OTHER).parse(code);

export const reasonSchema = z
  .object({
    code: field(z.string(), 'Stable, for programs.', 'NOT_ELIGIBLE'),
    message: field(z.string(), 'The same for people, in English.', 'The manufacturer does not admit this vehicle.'),
    actor: field(actorSchema, 'Who must act.', 'MANUFACTURER'),
    retryable: field(
      z.boolean(),
      'Whether asking again may change it. While there is no answer yet, the gateway asks again by itself.',
      false,
    ),
  })
  .meta({ id: 'Reason', description: 'Why a vehicle is not eligible, or not verified yet.' });

/** Members of a reason in a JSON column, with the code as a value of the enumeration. */
export function reasonJsonMembers(column: string): JsonMembers {
  const member = (name: string) => ({ sql: `coalesce((${column} -> '${name}')::text, 'null')` });
  const members = Object.keys(reasonSchema.shape).map((name) => [name, member(name)]);
  return { ...Object.fromEntries(members), code: jsonSql.known(`(${column} ->> 'code')`, reasonCodes) };
}
