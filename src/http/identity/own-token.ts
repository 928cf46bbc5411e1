import type { Request } from 'express';
import type { HttpServices } from '../request-context.ts';

/** Addresses and localhost. Under any other name, the page asking could be a stranger's that has made it point here. */
const OWN_HOST = /^(?:localhost|[\w-]+\.localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:]+\])(?::\d+)?$/i;

/** In development a token for the company `demo`, to be shown on our own pages; else undefined. */
export async function ownToken({ authenticator }: HttpServices, req: Request): Promise<string | undefined> {
  if (!OWN_HOST.test(req.get('Host') ?? '')) return undefined;
  return authenticator.issue?.({ company: 'demo' });
}
