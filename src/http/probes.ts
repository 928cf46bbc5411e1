import { Router } from 'express';
import { onlyGet } from './operator-routes.ts';
import type { HttpServices } from './request-context.ts';

/** `/livez`: the process runs. `/readyz`: it can also do its work: the database answers and is migrated. */
export function probes({ database, ending }: HttpServices): Router {
  const router = Router();
  onlyGet(router, '/livez', (_req, res) => void res.json({ status: 'ok' }));
  onlyGet(router, '/readyz', async (_req, res) => {
    const status = ending.aborted ? 'draining' : (await database.ready()) ? 'ready' : 'unavailable';
    if (status !== 'ready') res.set('Retry-After', '2');
    res.status(status === 'ready' ? 200 : 503).json({ status });
  });
  return router;
}
