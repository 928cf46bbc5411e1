import cors from 'cors';
import type { RequestHandler } from 'express';

/** Lets pages of these origins call and read what the service tells in headers; none may, when there are none. */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  if (origins.length === 0) return (_req, _res, next) => next();
  return cors({
    origin: [...origins],
    maxAge: 3600,
    exposedHeaders: [
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
