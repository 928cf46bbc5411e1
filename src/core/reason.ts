import { z } from 'zod';
import { actors } from '../entities/fleet.ts';
import { reasonCodes } from '../manufacturers/index.ts';
import { field } from './fields.ts';

export const actorSchema = z.enum(actors);

const OTHER = 'OTHER';
/** Codes as an enumeration. Another version of the gateway may have stored one that this version does not know. */
export const reasonCodeSchema = z.enum([...reasonCodes, OTHER]);
export const knownReasonCode = (code: string) => reasonCodeSchema.catch(OTHER).parse(code);

export const reasonSchema = z
  .object({
    code: field(
      z.string(),
      'The code of the reason for an eligibility status or contract state. Codes never change their meaning.',
      'NOT_ELIGIBLE',
    ),
    message: field(
      z.string(),
      'The reason for the eligibility status or the contract’s state, as a sentence in English.',
      'The manufacturer does not admit this vehicle.',
    ),
    actor: field(actorSchema, 'The party that must act before the reason no longer holds.', 'MANUFACTURER'),
    retryable: field(
      z.boolean(),
      'True if asking the manufacturer again may change its answer. Until it answers, the gateway does so by itself.',
      false,
    ),
  })
  .meta({
    id: 'Reason',
    description:
      'The reason for an eligibility status, or for the state of a contract at the manufacturer, with the party that must act.',
  });
