import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import type { Request, Response } from 'express';
import { MethodNotAllowed, NotFound } from '../../core/errors.ts';
import { localsOf } from '../../http/locals.ts';

/** Where its parts are, and no other page of ours. */
export const ASSETS = '/graphiql/';

interface Asset {
  /** An ending, which names the media type. */
  type: string;
  content: Buffer;
}

/** What GraphiQL is made of, by file name. `version` changes when any of it does, and stands in each address. */
export interface GraphiqlAssets {
  version: string;
  files: ReadonlyMap<string, Asset>;
}

/** Options stand in the page; scripts in the page itself would need a weaker policy. */
const start = `const { options, workers } = JSON.parse(document.getElementById('root').dataset.start);
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), options);
`;

/** A tab that is pressed would otherwise move to where the library believes it to be, away from under the pointer. */
const steadyTabs = '.graphiql-tab { transform: none !important }\n';

let loaded: Promise<GraphiqlAssets> | undefined;

/** Loaded when first asked for: these 9 MB are more than all other modules together. */
export function graphiqlAssets(): Promise<GraphiqlAssets> {
  loaded ??= load().catch((error) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function load(): Promise<GraphiqlAssets> {
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
  const hash = createHash('sha256');
  const files = new Map<string, Asset>();
  for (const [name, text] of Object.entries(texts)) {
    const content = Buffer.from(text);
    hash.update(`${name}\n${content.length}\n`).update(content);
    files.set(name, { type: extname(name), content });
  }
  return { version: hash.digest('base64url').slice(0, 16), files };
}

/** Sends a part of GraphiQL, which caches keep for good: another version has another address. */
export async function sendAsset(req: Request, res: Response): Promise<void> {
  localsOf(res).route = `${ASSETS}:version/:file`;
  if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  const { version, files } = await graphiqlAssets();
  const [wanted, name = ''] = req.path.slice(ASSETS.length).split('/');
  const asset = files.get(name);
  if (!asset) throw new NotFound('There is nothing at this address.');
  // While versions change, a page of one may ask a process of the other: it gets what there is, and no cache keeps that.
  if (wanted === version) res.set('Cache-Control', 'public, max-age=31536000, immutable');
  res.set('Content-Length', String(asset.content.length)).type(asset.type).end(asset.content);
}
