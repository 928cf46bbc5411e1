import helmet from 'helmet';

/** Data, not pages: nothing in an answer may run or be framed, and no cache may keep it. Pages set a policy of their own. */
const protect = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  // These are for pages, or for browsers that are long gone.
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false,
});

/** The headers of every answer. Helmet is asked once, since it gives the same ones to every request. */
export const securityHeaders: ReadonlyMap<string, string> = headersOfHelmet().set('Cache-Control', 'no-store');

function headersOfHelmet(): Map<string, string> {
  const headers = new Map<string, string>();
  const setHeader = headers.set.bind(headers);
  protect({} as never, { setHeader, removeHeader: () => {} } as never, () => {});
  return headers;
}
