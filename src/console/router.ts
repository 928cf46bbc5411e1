import { Router } from 'express';
import { loadedOnce, onlyGet, sendAsset } from '../http/assets.ts';
import { basePathOf, type HttpServices, ownToken } from '../http/request-context.ts';
import { loadAssets } from './assets.ts';
import { consolePage } from './page.ts';

/** Serves `/console` unless CONSOLE is off: a page for people that uses the public API alone. */
export function consoleRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true });
  const { config } = services;
  if (!config.CONSOLE) return router;
  const open = loadedOnce(loadAssets);
  onlyGet(router, '/console', async (req, res) => {
    const page = consolePage(await open(), config, basePathOf(services, req), await ownToken(services, req));
    res.set('Content-Security-Policy', page.policy).type('html').send(page.html);
  });
  onlyGet(router, '/console/:version/*path', async (req, res) => {
    sendAsset(res, await open(), String(req.params.version), [req.params.path].flat().join('/'));
  });
  return router;
}
