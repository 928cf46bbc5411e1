/** A service that names more than an hour is asked again after an hour. */
const LONGEST_WAIT = 3600;

/**
 * Seconds named by a Retry-After header, given as seconds or as an HTTP date; undefined when it is absent or neither.
 * A date that has passed is 0.
 */
export function secondsToWait(header: string | string[] | undefined, now = Date.now()): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value), LONGEST_WAIT);
  // Date.parse takes far more than HTTP dates; those begin with the day's name.
  const at = /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, Math.ceil((at - now) / 1000)), LONGEST_WAIT);
}
