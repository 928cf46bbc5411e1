import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Request, type Response, Router } from 'express';
import { type Assets, assetsOf, loadedOnce, onlyGet, sendAsset } from '../../http/assets.ts';
import { html } from '../../http/pages/html.ts';
import { basePathOf, type HttpServices, ownToken } from '../../http/request-context.ts';

/** The page connects to this server alone. Its editor needs inline styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; " +
  "worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends GraphiQL, in development with a token. */
export async function sendGraphiql(services: HttpServices, req: Request, res: Response): Promise<void> {
  const token = await ownToken(services, req);
  const address = { origin: originOf(req), basePath: basePathOf(services, req) };
  const page = pageOf(await graphiqlAssets(), address, token);
  res.set('Content-Security-Policy', POLICY).type('html').send(page);
}

function pageOf(
  { version, tabs }: GraphiqlAssets,
  { origin, basePath }: { origin: string; basePath: string },
  token: string | undefined,
): string {
  const addressOf = (name: string) => `${basePath}/graphiql/${version}/${name}`;
  const development = token !== undefined;
  // A placeholder for the token would be a wrong token, with which not even the schema can be read.
  const headers = JSON.stringify(development ? { Authorization: `Bearer ${token}` } : {}, null, 2);
  const options = {
    title: 'Fleet Gateway',
    defaultTabs: tabsOf(tabs, origin + basePath, development).map((tab) => ({ ...tab, headers })),
    headers,
    // A browser must not keep tokens.
    shouldPersistHeaders: false,
    defaultEditorToolsVisibility: development ? 'variables' : 'headers',
    subscriptionsProtocol: 'SSE',
  };
  const workers = {
    editorWorkerService: addressOf('editor.worker.js'),
    json: addressOf('json.worker.js'),
    graphql: addressOf('graphql.worker.js'),
  };
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Fleet Gateway</title>
<link rel="icon" href="${addressOf('favicon.ico')}">
<link rel="stylesheet" href="${addressOf('graphiql.css')}">
<body id="body" class="no-focus-outline">
<noscript>GraphiQL is drawn by a script. Without scripts, read <a href="${basePath}/schema.graphql">the schema</a>.</noscript>
<div id="root" data-start="${JSON.stringify({ options, workers })}"></div>
<script src="${addressOf('graphiql.js')}"></script>
<script src="${addressOf('start.js')}"></script>
</html>
`.text;
}

/** The address of this server, with a valid host name. */
function originOf(req: Request): string {
  const host = req.get('Host') ?? '';
  return `${req.protocol}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}

/** The first tabs: three things to try. Lines of their texts fit half a window. */
function tabsOf(texts: readonly string[], origin: string, development: boolean) {
  const importId = randomUUID();
  const values: Readonly<Record<string, string>> = {
    origin,
    importId,
    token: development ? '$(npm run -s token -- --company demo)' : '…',
    hint: development
      ? 'The token under Headers is for company "demo".'
      : 'Your token goes under Headers, below:\n#   { "Authorization": "Bearer …" }',
  };
  const variables = [undefined, { fleetId: '' }, { importId }];
  return texts.map((text, at) => ({
    query: text.replaceAll(/{{(\w+)}}/g, (_, name) => values[name] ?? ''),
    variables: JSON.stringify(variables[at], null, 2),
  }));
}

type GraphiqlAssets = Assets & { tabs: readonly string[] };

const readOwn = (name: string) => readFile(join(import.meta.dirname, 'graphiql', name), 'utf8');

/** The files of GraphiQL, loaded at first use: 9 MB, more than all other modules together. */
const graphiqlAssets = loadedOnce(async (): Promise<GraphiqlAssets> => {
  const { css, editorWorkerService, favicon, graphqlWorker, js, jsonWorker } = await import(
    '@graphql-yoga/render-graphiql/graphiql'
  );
  const texts = {
    'graphiql.js': js,
    'start.js': await readOwn('start.js'),
    'graphiql.css': css + (await readOwn('graphiql.css')),
    'editor.worker.js': editorWorkerService,
    'json.worker.js': jsonWorker,
    'graphql.worker.js': graphqlWorker,
    'favicon.ico': Buffer.from(favicon.slice(favicon.indexOf(',') + 1), 'base64'),
  };
  const assets = assetsOf(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const));
  return { ...assets, tabs: await Promise.all(['explore.graphql', 'verify.graphql', 'upload.graphql'].map(readOwn)) };
});

/** Serves the files of GraphiQL. */
export function graphiqlRouter(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  onlyGet(router, '/graphiql/:version/:file', async (req, res) => {
    sendAsset(res, await graphiqlAssets(), String(req.params.version), String(req.params.file));
  });
  return router;
}
