import cors from 'cors';
import express, { type Express } from 'express';
import { NotFound } from './core/errors.ts';
import { graphiqlRouter, graphqlApi } from './graphql/graphql-api.ts';
import { onlyGet } from './http/assets.ts';
import { sendText } from './http/body.ts';
import { entrance, forPages } from './http/observability/entrance.ts';
import { openMetrics } from './http/observability/metrics.ts';
import { probes } from './http/observability/probes.ts';
import { consoleRouter } from './http/pages/console-router.ts';
import { pagesRouter } from './http/pages/pages-router.ts';
import { basePathOf, type HttpServices } from './http/request-context.ts';
import { headers } from './rest/openapi/json-schema.ts';
import { openApiDocument } from './rest/openapi/openapi-document.ts';
import { providerEvents } from './rest/provider-events.ts';
import { problems, restApi } from './rest/router.ts';

/** The headers that pages of other origins may read. */
const exposedHeaders = Object.keys(headers)
  .filter((name) => name !== 'Vary')
  .sort();

/** Both interfaces on one application: what is mounted where, in order. */
export function createApp(services: HttpServices): Express {
  const app = express();
  const metrics = openMetrics(services);
  app.disable('x-powered-by');
  app.disable('etag');
  // Without ETags nothing can be fresh; `If-None-Match: *` would make it so.
  Object.defineProperty(app.request, 'fresh', { value: false });
  app.set('query parser', 'simple');
  app.set('trust proxy', services.config.TRUST_PROXY);
  // Each step here is paid by every small request: what does nothing is left out.
  app.use(entrance(services, metrics.observe));
  const { origins: origin, CORS_ORIGINS } = services.config;
  const shared = cors({ origin, maxAge: 3600, exposedHeaders });
  if (origin.length > 0) app.use(CORS_ORIGINS.length > 0 ? shared : forPages(shared));
  app.use(graphqlApi(services));
  app.use(providerEvents(services));
  app.use(restApi(services));
  app.use(probes(services));
  onlyGet(app, '/metrics', metrics.expose);
  let openApi = { basePath: '', text: '' };
  onlyGet(app, '/openapi.json', (req, res) => {
    const basePath = basePathOf(services, req);
    if (!openApi.text || openApi.basePath !== basePath)
      openApi = { basePath, text: JSON.stringify(openApiDocument(basePath)) };
    sendText(res.type('json'), openApi.text);
  });
  app.use(pagesRouter(services));
  if (services.config.GRAPHIQL) app.use(graphiqlRouter());
  app.use(consoleRouter(services));
  app.use(() => {
    throw new NotFound('There is nothing at this address.');
  });
  app.use(problems(services));
  return app;
}
