import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import { MethodNotAllowed } from '../../core/errors.ts';
import { type Assets, assetsOf, loadedOnce, sendAsset } from '../../http/assets.ts';
import { html } from '../../http/pages/html.ts';
import { basePathOf, type HttpServices, localsOf, ownToken } from '../../http/request-context.ts';
import { graphiqlTabs } from './graphiql-tabs.ts';

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
  { version }: Assets,
  { origin, basePath }: { origin: string; basePath: string },
  token: string | undefined,
): string {
  const addressOf = (name: string) => `${basePath}${GRAPHIQL_ASSETS_PATH}${version}/${name}`;
  const development = token !== undefined;
  // A placeholder for the token would be a wrong token, with which not even the schema can be read.
  const headers = JSON.stringify(development ? { Authorization: `Bearer ${token}` } : {}, null, 2);
  const tabs = graphiqlTabs({ origin: origin + basePath, importId: randomUUID(), development });
  const options = {
    title: 'Fleet Gateway',
    defaultTabs: tabs.map((tab) => ({ ...tab, headers })),
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

export const GRAPHIQL_ASSETS_PATH = '/graphiql/';

/** The page has only data: a script in it would need a weaker policy. */
const start = `const { options, workers } = JSON.parse(document.getElementById('root').dataset.start);
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), options);
`;

/** The library would move a pressed tab away from the pointer. */
const steadyTabs = '.graphiql-tab { transform: none !important }\n';

/** On narrow screens the result is below the query, and the documentation covers the page. */
const narrow = `@media (max-width: 700px) {
  .graphiql-main { overflow-x: auto }
  .graphiql-plugin, .graphiql-sessions { min-width: 100% !important }
  #graphiql-session { flex-direction: column !important }
  .graphiql-horizontal-drag-bar, .graphiql-logo { display: none }
}
`;

/** The files of GraphiQL, loaded at first use: 9 MB, more than all other modules together. */
const graphiqlAssets = loadedOnce(async () => {
  const { css, editorWorkerService, favicon, graphqlWorker, js, jsonWorker } = await import(
    '@graphql-yoga/render-graphiql/graphiql'
  );
  const texts = {
    'graphiql.js': js,
    'start.js': start,
    'graphiql.css': css + steadyTabs + narrow,
    'editor.worker.js': editorWorkerService,
    'json.worker.js': jsonWorker,
    'graphql.worker.js': graphqlWorker,
    'favicon.ico': Buffer.from(favicon.slice(favicon.indexOf(',') + 1), 'base64'),
  };
  return assetsOf(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const));
});

export async function sendGraphiqlAsset(req: Request, res: Response): Promise<void> {
  localsOf(res).route = `${GRAPHIQL_ASSETS_PATH}:version/:file`;
  if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  const [version, name = ''] = req.path.slice(GRAPHIQL_ASSETS_PATH.length).split('/');
  sendAsset(res, await graphiqlAssets(), version, name);
}
