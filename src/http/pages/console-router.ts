import { Router } from 'express';
import { loadConsole } from '../../console/index.ts';
import { assetsOf, loadedOnce, onlyGet, sendAsset } from '../assets.ts';
import { basePathOf, type HttpServices, ownToken } from '../request-context.ts';
import { type ConsoleAssets, consolePage } from './console-page.ts';

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

/** In memory, so that slow clients cause no disk access. */
async function loadAssets(): Promise<ConsoleAssets> {
  const { files, ...parts } = await loadConsole();
  return { ...assetsOf(files), ...parts };
}
