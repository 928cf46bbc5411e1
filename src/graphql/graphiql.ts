import { randomUUID } from 'node:crypto';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import type { Request, RequestHandler } from 'express';
import { ownToken } from '../http/own-token.ts';
import type { HttpServices } from '../http/request-context.ts';
import { exampleTabs } from './graphiql-tabs.ts';

/** The page is one file with its scripts, styles and fonts inside; it talks to this server and to nobody else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'worker-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** GraphiQL for browsers, unless GRAPHIQL is off. In development its headers hold a ready token. */
export function graphiql(services: HttpServices): RequestHandler {
  return async (req, res, next) => {
    const wanted = req.method === 'GET' && req.get('Accept')?.includes('text/html');
    if (!wanted || !services.config.GRAPHIQL) return next();
    const token = await ownToken(services, req);
    // Not a token to be replaced: with a wrong one, not even the schema could be read.
    const headers = JSON.stringify(token ? { Authorization: `Bearer ${token}` } : {}, null, 2);
    const tabs = exampleTabs({ origin: originOf(req), importId: randomUUID(), development: token !== undefined });
    res.set('Content-Security-Policy', POLICY).set('Cache-Control', 'no-store').type('html');
    res.send(
      renderGraphiQL({
        title: 'Fleet Gateway',
        defaultTabs: tabs.map((tab) => ({ ...tab, headers })),
        headers,
        // A kept token would outlive its time, and is nobody's business.
        shouldPersistHeaders: false,
        defaultEditorToolsVisibility: token ? 'variables' : 'headers',
        subscriptionsProtocol: 'SSE',
      }),
    );
  };
}

/** Where the browser found us. What is no name of a host does not go into the page. */
function originOf(req: Request): string {
  const host = req.get('Host') ?? '';
  return `${req.protocol}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
