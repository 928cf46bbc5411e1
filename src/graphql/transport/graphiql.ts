import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import { ownToken } from '../../http/identity/own-token.ts';
import type { HttpServices } from '../../http/request-context.ts';
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

/** What differs from one page to the next; as it stands in the page until it is sent. */
interface Blanks {
  origin: string;
  importId: string;
  token: string;
}
const BLANK = /@@(origin|importId|token)@@/;
const blanks: Blanks = { origin: '@@origin@@', importId: '@@importId@@', token: '@@token@@' };

/** GraphiQL for browsers, unless GRAPHIQL is off; false for everybody else. In development its headers hold a ready token. */
export function graphiql(services: HttpServices): (req: Request, res: Response) => Promise<boolean> {
  const pages = new Map<boolean, ReturnType<typeof partsOf>>();
  const remember = (development: boolean) => {
    const page = partsOf(development);
    pages.set(development, page);
    page.catch(() => pages.delete(development));
    return page;
  };
  return async (req, res) => {
    const wanted = req.method === 'GET' && req.get('Accept')?.includes('text/html');
    if (!wanted || !services.config.GRAPHIQL) return false;
    const token = await ownToken(services, req);
    const development = token !== undefined;
    // The page has 9 MB and is for anyone: made once, it costs no more than to send it.
    const page = pages.get(development) ?? remember(development);
    const filled: Blanks = { origin: originOf(req), importId: randomUUID(), token: token ?? '' };
    const parts = (await page).map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(filled[part])));
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    res.set('Content-Security-Policy', POLICY).type('html');
    res.set('Content-Length', String(length)).cork();
    for (const part of parts) res.write(part);
    res.end();
    return true;
  };
}

/** The page in pieces, with the names of what comes between them. */
async function partsOf(development: boolean): Promise<(Buffer | keyof Blanks)[]> {
  // Loaded when first used: these 9 MB are more than all other modules together.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  // Not a token to be replaced: with a wrong one, not even the schema could be read.
  const headers = JSON.stringify(development ? { Authorization: `Bearer ${blanks.token}` } : {}, null, 2);
  const tabs = exampleTabs({ origin: blanks.origin, importId: blanks.importId, development });
  const html = renderGraphiQL({
    title: 'Fleet Gateway',
    defaultTabs: tabs.map((tab) => ({ ...tab, headers })),
    headers,
    // A kept token would outlive its time, and is nobody's business.
    shouldPersistHeaders: false,
    defaultEditorToolsVisibility: development ? 'variables' : 'headers',
    subscriptionsProtocol: 'SSE',
  });
  return html.split(BLANK).map((part, at) => (at % 2 === 0 ? Buffer.from(part) : (part as keyof Blanks)));
}

/** Where the browser found us. What is no name of a host does not go into the page. */
function originOf(req: Request): string {
  const host = req.get('Host') ?? '';
  return `${req.protocol}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
