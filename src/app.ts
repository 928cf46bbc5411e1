import express, { type Express } from 'express';
import helmet from 'helmet';
import { type Lifecycle, probes } from './http/probes.ts';
import type { HttpServices } from './http/request-context.ts';
import { requestId } from './http/request-id.ts';
import { requestLog } from './http/request-log.ts';
import { restRouter } from './rest/router.ts';

/** Both faces on one application: what is mounted where, in order. */
export function createApp(services: HttpServices, lifecycle: Lifecycle): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(requestId);
  app.use(requestLog(services.log));
  app.use(helmet());
  app.use(probes(services, lifecycle));
  app.use(restRouter(services));
  return app;
}
