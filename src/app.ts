import express, { type Express } from 'express';
import { graphqlRouter } from './graphql/server.ts';
import { crossOrigin } from './http/cross-origin.ts';
import { openMetrics } from './http/metrics.ts';
import { onlyGet } from './http/operator-routes.ts';
import { pagesRouter } from './http/pages.ts';
import { probes } from './http/probes.ts';
import type { HttpServices } from './http/request-context.ts';
import { requestId } from './http/request-id.ts';
import { requestLog } from './http/request-log.ts';
import { securityHeaders } from './http/security-headers.ts';
import { traces } from './http/traces.ts';
import { openApiDocument } from './rest/openapi/document.ts';
import { problems, restRouter } from './rest/router.ts';

/** Both faces on one application: what is mounted where, in order. */
export function createApp(services: HttpServices): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(requestId);
  app.use(traces);
  app.use(requestLog(services.log));
  const metrics = openMetrics(services);
  app.use(metrics.observe);
  app.use(securityHeaders);
  app.use(crossOrigin(services.config.CORS_ORIGINS));
  app.use(graphqlRouter(services));
  app.use(probes(services));
  onlyGet(app, '/metrics', metrics.expose);
  onlyGet(app, '/openapi.json', (_req, res) => void res.json(openApiDocument()));
  app.use(pagesRouter(services));
  app.use(restRouter(services));
  app.use(problems(services));
  return app;
}
