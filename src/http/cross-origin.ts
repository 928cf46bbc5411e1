import cors from 'cors';
import type { RequestHandler } from 'express';

/** Lets pages of these origins call and read what the service tells in headers. */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  return cors({
    origin: [...origins],
    maxAge: 3600,
    exposedHeaders: [
      'Content-Disposition',
      'ETag',
      'Idempotent-Replayed',
      'Link',
      'Location',
      'Preference-Applied',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ],
  });
}
