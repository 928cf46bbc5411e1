import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import type { RequestHandler, Response, Router } from 'express';
import { MethodNotAllowed, NotFound } from '../core/errors.ts';
import { sendText } from './body.ts';
import { localsOf } from './request-context.ts';

/** The files of a page. `version`, a hash of all, is in each address. */
export type Assets = ReturnType<typeof assetsOf>;

export function assetsOf(files: readonly (readonly [path: string, content: Buffer])[]) {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${path}\n${content.length}\n`).update(content);
  return { version: hash.digest('base64url').slice(0, 16), files: new Map(files) };
}

/** Loads at the first call, and again after a failure. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/** Sends a file, which caches keep for good. Throws NotFound. */
export function sendAsset(res: Response, { version, files }: Assets, wanted: string | undefined, path: string): void {
  const content = files.get(path);
  if (!content) throw new NotFound('There is nothing at this address.');
  // During an update a page may ask a process of another version: no cache may keep that answer.
  if (wanted === version) res.set('Cache-Control', 'public, max-age=31536000, immutable');
  sendText(res.type(extname(path)), content);
}

/** Answers GET (and HEAD) at an address outside the interfaces, and rejects its other methods. */
export function onlyGet(router: Router, path: string, handler: RequestHandler): void {
  router.all(path, (req, res, next) => {
    localsOf(res).route = path;
    if (req.method === 'GET' || req.method === 'HEAD') return handler(req, res, next);
    throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  });
}
