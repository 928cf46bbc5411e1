import type { Request } from 'express';
import { UnsupportedMediaType, ValidationFailed } from '../../core/errors.ts';

/** What a page of another site can send without the browser asking first. Nothing said counts as such. */
const SIMPLE = /^(?:$|multipart\/form-data|application\/x-www-form-urlencoded|text\/plain)/i;
const KNOWN = /^(?:multipart\/form-data|application\/(?:json|graphql\+json|graphql|x-www-form-urlencoded))(?:\s*;|$)/i;
/** Any of them makes the browser ask first, which other sites are denied. */
const PROOFS = ['authorization', 'x-graphql-yoga-csrf', 'apollo-require-preflight', 'graphql-require-preflight'];

/** Rejects what another site could have a browser send in the name of its user, and bodies nobody here can read. */
export function requirePreflight(req: Request): void {
  if (req.method !== 'POST') return;
  const type = req.headers['content-type'] ?? '';
  if (SIMPLE.test(type) && !PROOFS.some((name) => name in req.headers)) {
    throw new ValidationFailed(
      [],
      `A POST of this content type needs one of the headers ${PROOFS.join(', ')}, so that no other site can send it.`,
    );
  }
  if (!KNOWN.test(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
}
