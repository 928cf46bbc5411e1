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

export const securityHeaders: typeof protect = (req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  protect(req, res, next);
};
