import type { RequestHandler } from 'express';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { localsOf, loggedStatus } from '../request-context.ts';

/** Requests of machines every few seconds, which would fill the traces. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);
const OUR_ERRORS = new Set(['INTERNAL', 'UNAVAILABLE']);

/** Each request as a span of its caller's trace (`traceparent`), without its address, which may hold a VIN. */
export const traces =
  (telemetry: Telemetry): RequestHandler =>
  (req, res, next) => {
    if (PROBES.has(req.path)) return next();
    telemetry.serve(req.headers, (end) => {
      res.once('close', () => {
        const { route, requestId, company, code } = localsOf(res);
        const status = loggedStatus(res);
        const failed = status >= 500 || OUR_ERRORS.has(code ?? '');
        end({
          name: route ? `${req.method} ${route}` : req.method,
          attributes: {
            'fleet_gateway.request_id': requestId,
            ...(company && { 'fleet_gateway.company': company }),
            ...(code && { 'fleet_gateway.code': code }),
          },
          labels: {
            'http.request.method': req.method,
            'http.response.status_code': status,
            'network.protocol.version': req.httpVersion,
            'url.scheme': req.protocol,
            ...(route && { 'http.route': route }),
            ...(failed && { 'error.type': code ?? String(status) }),
          },
        });
      });
      next();
    });
  };
