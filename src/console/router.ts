import { extname } from 'node:path';
import { Router } from 'express';
import { NotFound } from '../core/errors.ts';
import { ownToken } from '../http/identity/own-token.ts';
import { onlyGet } from '../http/observability/probes.ts';
import type { HttpServices } from '../http/request-context.ts';
import { type Assets, loadAssets } from './assets.ts';
import { consolePage } from './page.ts';

/** `/console`, unless CONSOLE is off: a page that shows fleets to people, by the public API alone. */
export function consoleRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true });
  const { CONSOLE, AUTH_COMPANY_CLAIM: claim, GRAPHIQL: graphiql } = services.config;
  if (!CONSOLE) return router;
  let assets: Promise<Assets> | undefined;
  const open = () => {
    assets ??= loadAssets();
    assets.catch(() => {
      assets = undefined;
    });
    return assets;
  };
  onlyGet(router, '/console', async (req, res) => {
    const page = consolePage(await open(), { token: await ownToken(services, req), claim, graphiql });
    res.set('Content-Security-Policy', page.policy).type('html').send(page.html);
  });
  onlyGet(router, '/console/:version/*path', async (req, res) => {
    const { version, files } = await open();
    const path = [req.params.path].flat().join('/');
    const content = files.get(path);
    if (!content) throw new NotFound('There is nothing at this address.');
    // While versions change, a page of one may ask a process of the other: it gets what there is, and no cache keeps that.
    if (req.params.version === version) res.set('Cache-Control', 'public, max-age=31536000, immutable');
    res.set('Content-Length', String(content.length)).type(extname(path)).end(content);
  });
  return router;
}
