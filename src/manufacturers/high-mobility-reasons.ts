import { brandName } from './brands.ts';
import { type Reason, reason } from './provider.ts';

/** What High Mobility's pages on activation say can be done, by words of the manufacturer's reason. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/privacy/i, 'Turn off the privacy mode in the vehicle’s settings, and ask again.'],
  [/consent|portal/i, 'Give consent to the vehicle in the manufacturer’s fleet portal, and ask again.'],
  [/no data|timeout/i, 'Drive the vehicle, several times if its software is old, and ask again.'],
  [/different/i, 'End the vehicle’s activation with the other fleet or provider, and ask again.'],
];

export function rejection(why?: string | null): Reason {
  if (!why) return reason('ACTIVATION_REJECTED', 'The manufacturer rejected the clearance, and gave no reason.');
  const [, remedy] = remedies.find(([words]) => words.test(why)) ?? [];
  const sentence = remedy ? `${why.replace(/\.$/, '')}. ${remedy}` : why;
  return reason('ACTIVATION_REJECTED', `The manufacturer rejected the clearance: ${sentence}`);
}

export const vinRefused = reason(
  'VIN_REFUSED',
  'The manufacturer does not accept this VIN. Check it against the vehicle’s papers.',
);
export const refused = (why?: string | null): Reason =>
  reason('REFUSED', `High Mobility refused to clear this vehicle${why ? `: ${why}` : '.'}`);
export const brandRefused = (brand: string | undefined, why?: string | null): Reason =>
  reason('REFUSED', `High Mobility does not clear this vehicle as ${brandName(brand)}: ${why ?? 'it gave no reason'}`);

/** A pending clearance is revoked after its decision where it cannot be cancelled. */
export const notCancelled = reason(
  'CANCELLATION_NOT_SUPPORTED',
  'The manufacturer has not decided yet and cannot cancel. The end is asked for again until it has decided.',
);
export const tooEarly = reason(
  'CANCELLATION_NOT_SUPPORTED',
  'The manufacturer has not decided yet, and cancels a day after it was asked at the earliest. The end is asked for again.',
);

/** Whether the words of a refusal blame the brand. */
export const mentionsBrand = (text?: string | null): boolean => /\bbrands?\b/i.test(text ?? '');
