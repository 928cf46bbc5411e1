import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { type Request, type Response, Router } from 'express';
import { loadedOnce, onlyGet } from '../assets.ts';
import { sendText } from '../body.ts';
import { basePathOf, type HttpServices, ownToken } from '../request-context.ts';
import { home, homePolicy } from './home.ts';
import { html } from './html.ts';

const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const assets: Readonly<Record<string, string>> = {
  'swagger-ui.css': join(swagger, 'swagger-ui.css'),
  'swagger-ui-bundle.js': join(swagger, 'swagger-ui-bundle.js'),
  'reference.css': join(import.meta.dirname, 'reference.css'),
  'reference.js': join(import.meta.dirname, 'reference.js'),
};

const schemaFile = join(import.meta.dirname, '../../../schema.graphql');

const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The page at `/docs`: the reference that Swagger UI makes of /openapi.json. The token is for trying things out. */
const reference = (basePath: string, token: string | undefined): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>REST reference – Fleet Gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${basePath}/docs/swagger-ui.css">
<link rel="stylesheet" href="${basePath}/docs/reference.css">
<nav><a href="${basePath}/">Fleet Gateway</a></nav>
<div id="reference" data-token="${token}">
  <noscript>
    <p>This page is drawn by a script. Without scripts, read <a href="${basePath}/openapi.json">the OpenAPI document</a>.</p>
  </noscript>
</div>
<script src="${basePath}/docs/swagger-ui-bundle.js"></script>
<script src="${basePath}/docs/reference.js"></script>
</html>
`.text;

/** Pages for people: `/`, and `/docs`, the reference of the REST API; and the GraphQL schema as a file. */
export function pagesRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true, strict: true });
  onlyGet(router, '/', async (req, res) => {
    const address = { origin: `${req.protocol}://${req.get('Host')}`, basePath: basePathOf(services, req) };
    const page = home(services, address, await ownToken(services, req));
    res.set('Content-Security-Policy', homePolicy).type('html').send(page);
  });
  onlyGet(router, '/docs', async (req, res) => {
    const page = reference(basePathOf(services, req), await ownToken(services, req));
    res.set('Content-Security-Policy', referencePolicy).type('html').send(page);
  });
  for (const [name, path] of Object.entries(assets)) {
    onlyGet(router, `/docs/${name}`, cachedFile(path, { type: extname(name), seconds: 3600 }));
  }
  if (!services.config.INTROSPECTION) return router;
  onlyGet(router, '/schema.graphql', cachedFile(schemaFile, { type: 'txt', seconds: 0 }));
  return router;
}

/** Sends a public file, which caches may keep. It stays in memory, so that slow clients share the same bytes. */
function cachedFile(path: string, { type, seconds }: { type: string; seconds: number }) {
  const open = loadedOnce(() => readFile(path));
  return async (_req: Request, res: Response) => {
    const content = await open();
    sendText(res.set('Cache-Control', `public, max-age=${seconds}`).type(type), content);
  };
}
