import { Router } from 'express';
import { onlyGet } from '../assets.ts';
import type { HttpServices } from '../request-context.ts';

const LOOK_MS = 1_000;

/** `/livez`: the process runs. `/readyz`: the database answers, too, and has its migrations. */
export function probes({ database, ending }: HttpServices): Router {
  const router = Router();
  const unready = lookedAt(() => database.unready(), LOOK_MS);
  onlyGet(router, '/livez', (_req, res) => void res.json({ status: 'ok' }));
  onlyGet(router, '/readyz', async (_req, res) => {
    const detail = ending.aborted ? 'The process is stopping.' : await unready();
    if (detail === null) return void res.json({ status: 'ready' });
    res.set('Retry-After', '2');
    res.status(503).json({ status: ending.aborted ? 'draining' : 'unavailable', detail });
  });
  return router;
}

/** Shares one call of `look` among callers during it, and until `ms` after its beginning. */
export function lookedAt<T>(look: () => Promise<T>, ms: number): () => Promise<T> {
  let last: Promise<T> | undefined;
  let until = 0;
  return () => {
    const now = performance.now();
    if (last && now < until) return last;
    until = Number.POSITIVE_INFINITY;
    last = look().finally(() => {
      until = now + ms;
    });
    return last;
  };
}
