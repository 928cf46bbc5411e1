import type { RequestHandler, Router } from 'express';
import { MethodNotAllowed } from '../../core/errors.ts';

/** Answers GET (and HEAD) at an address outside the interfaces, and refuses its other methods. */
export function onlyGet(router: Router, path: string, handler: RequestHandler): void {
  router.get(path, (req, res, next) => {
    res.locals.route = path;
    return handler(req, res, next);
  });
  router.all(path, (req, res) => {
    res.locals.route = path;
    throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  });
}
