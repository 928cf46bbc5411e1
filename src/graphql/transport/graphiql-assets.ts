import type { Request, Response } from 'express';
import { MethodNotAllowed } from '../../core/errors.ts';
import { type Assets, assetsOf, loadedOnce, sendAsset } from '../../http/assets.ts';
import { localsOf } from '../../http/request-context.ts';

/** Where its parts are, and no other page of ours. */
export const ASSETS = '/graphiql/';

/** Options stand in the page; scripts in the page itself would need a weaker policy. */
const start = `const { options, workers } = JSON.parse(document.getElementById('root').dataset.start);
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), options);
`;

/** A tab that is pressed would otherwise move to where the library believes it to be, away from under the pointer. */
const steadyTabs = '.graphiql-tab { transform: none !important }\n';

/** What GraphiQL is made of, by file name. Loaded when first asked for: these 9 MB are more than all other modules together. */
export const graphiqlAssets = loadedOnce(load);

async function load(): Promise<Assets> {
  const { css, editorWorkerService, favicon, graphqlWorker, js, jsonWorker } = await import(
    '@graphql-yoga/render-graphiql/graphiql'
  );
  const texts = {
    'graphiql.js': js,
    'start.js': start,
    'graphiql.css': css + steadyTabs,
    'editor.worker.js': editorWorkerService,
    'json.worker.js': jsonWorker,
    'graphql.worker.js': graphqlWorker,
    // Given as a data: URL, which would be most of the page.
    'favicon.ico': Buffer.from(favicon.slice(favicon.indexOf(',') + 1), 'base64'),
  };
  return assetsOf(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const));
}

/** Sends a part of GraphiQL. */
export async function sendGraphiqlAsset(req: Request, res: Response): Promise<void> {
  localsOf(res).route = `${ASSETS}:version/:file`;
  if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  const [wanted, name = ''] = req.path.slice(ASSETS.length).split('/');
  sendAsset(res, await graphiqlAssets(), wanted, name);
}
