import type { Forbidden, Unauthenticated } from '../../core/errors.ts';

/** The value of `WWW-Authenticate` for an error (RFC 6750, section 3); without an error code when nothing was sent. */
export function challenge(error: Unauthenticated | Forbidden): string {
  const parameters: Record<string, string | undefined> = { realm: 'fleet-gateway' };
  if (error.code === 'FORBIDDEN') {
    parameters.error = 'insufficient_scope';
    parameters.scope = error.scope;
  } else if (error.reason) {
    parameters.error = error.reason;
  }
  if (parameters.error) parameters.error_description = error.message;
  const written = Object.entries(parameters).flatMap(([name, value]) => (value ? `${name}="${quotable(value)}"` : []));
  return `Bearer ${written.join(', ')}`;
}

/** What RFC 6750 allows between the quotes: printable ASCII but for the quote and the backslash. */
function quotable(text: string): string {
  return text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
}
