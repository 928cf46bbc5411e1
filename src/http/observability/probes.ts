import { type RequestHandler, Router } from 'express';
import { MethodNotAllowed } from '../../core/errors.ts';
import { localsOf } from '../locals.ts';
import type { HttpServices } from '../request-context.ts';

/** Whoever asks meanwhile hears what the last look found. */
const LOOK_MS = 1_000;

/** `/livez`: the process runs. `/readyz`: it can also do its work: the database answers and is migrated. */
export function probes({ database, ending }: HttpServices): Router {
  const router = Router();
  const isReady = lookedAt(() => database.ready());
  onlyGet(router, '/livez', (_req, res) => void res.json({ status: 'ok' }));
  onlyGet(router, '/readyz', async (_req, res) => {
    const status = ending.aborted ? 'draining' : (await isReady()) ? 'ready' : 'unavailable';
    if (status !== 'ready') res.set('Retry-After', '2');
    res.status(status === 'ready' ? 200 : 503).json({ status });
  });
  return router;
}

/** The same answer for all who ask while a look is under way, or within a second of its beginning. */
function lookedAt(look: () => Promise<boolean>): () => Promise<boolean> {
  let last: Promise<boolean> | null = null;
  let began = 0;
  let underWay = false;
  return () => {
    if (last && (underWay || performance.now() - began < LOOK_MS)) return last;
    began = performance.now();
    underWay = true;
    last = look().finally(() => {
      underWay = false;
    });
    return last;
  };
}

/** Answers GET (and HEAD) at an address outside the interfaces, and rejects its other methods. */
export function onlyGet(router: Router, path: string, handler: RequestHandler): void {
  router.get(path, (req, res, next) => {
    localsOf(res).route = path;
    return handler(req, res, next);
  });
  router.all(path, (req, res) => {
    localsOf(res).route = path;
    throw new MethodNotAllowed(req.method, ['GET', 'HEAD']);
  });
}
