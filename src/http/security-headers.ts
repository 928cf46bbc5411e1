/**
 * The headers of every answer. An answer is data: nothing in it may run or be framed, and no cache may keep it. Pages set
 * a policy of their own.
 */
export const securityHeaders: readonly (readonly [name: string, value: string])[] = Object.entries({
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Cache-Control': 'no-store',
});
