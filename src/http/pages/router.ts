import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Request, type Response, Router } from 'express';
import { loadedOnce } from '../assets.ts';
import { sendText } from '../body.ts';
import { ownToken } from '../identity/own-token.ts';
import { onlyGet } from '../observability/probes.ts';
import type { HttpServices } from '../request-context.ts';
import { home, homePolicy } from './home.ts';
import { reference, referencePolicy } from './reference.ts';

const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const pages = fileURLToPath(new URL('.', import.meta.url));

/** The files of `/docs`; none comes from another host. */
const assets: Readonly<Record<string, string>> = {
  'swagger-ui.css': join(swagger, 'swagger-ui.css'),
  'swagger-ui-bundle.js': join(swagger, 'swagger-ui-bundle.js'),
  'reference.css': join(pages, 'reference.css'),
  'reference.js': join(pages, 'reference.js'),
};

const schemaFile = fileURLToPath(new URL('../../../schema.graphql', import.meta.url));

/** Pages for people: `/`, and `/docs`, the reference of the REST API; and the GraphQL schema as a file. */
export function pagesRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true, strict: true });
  onlyGet(router, '/', async (req, res) => {
    const page = home(services, `${req.protocol}://${req.get('Host')}`, await ownToken(services, req));
    res.set('Content-Security-Policy', homePolicy).type('html').send(page);
  });
  onlyGet(router, '/docs', async (req, res) => {
    const page = reference(await ownToken(services, req));
    res.set('Content-Security-Policy', referencePolicy).type('html').send(page);
  });
  for (const [name, path] of Object.entries(assets)) {
    onlyGet(router, `/docs/${name}`, keptFile(path, { type: extname(name), seconds: 3600 }));
  }
  if (!services.config.INTROSPECTION) return router;
  onlyGet(router, '/schema.graphql', keptFile(schemaFile, { type: 'txt', seconds: 0 }));
  return router;
}

/**
 * Sends a file of ours that is the same for everybody: caches may keep it, which no other answer allows them. It stays in memory, so
 * that all who take it slowly wait with the same bytes, and no disk is read for them.
 */
function keptFile(path: string, { type, seconds }: { type: string; seconds: number }) {
  const open = loadedOnce(() => readFile(path));
  return async (_req: Request, res: Response) => {
    const content = await open();
    sendText(res.set('Cache-Control', `public, max-age=${seconds}`).type(type), content);
  };
}
