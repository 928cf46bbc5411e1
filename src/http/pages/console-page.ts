import type { Config } from '../../config.ts';
import type { ConsoleFiles } from '../../console/index.ts';
import type { Assets } from '../assets.ts';
import { Html, hashOf, html } from './html.ts';

/** Where a version of the console has its parts. */
export type ConsoleAssets = Assets & Omit<ConsoleFiles, 'files'>;

/**
 * The page at `/console` and its Content-Security-Policy. The import map, by which modules find their libraries, is the
 * only inline part. `token` is a development token, if any; addresses begin with `basePath`.
 */
export function consolePage(assets: ConsoleAssets, config: Config, basePath: string, token: string | undefined) {
  const at = (path: string) => `${basePath}/console/${assets.version}/${path}`;
  const imports = Object.fromEntries(Object.entries(assets.libraries).map(([name, path]) => [name, at(path)]));
  const map = JSON.stringify({ imports });
  const { CONSOLE_CLIENT_ID: client, CONSOLE_SCOPE: scope, AUTH_COMPANY_CLAIM: claim } = config;
  const issuer = client && config.AUTH_ISSUER;
  const page = html`<!doctype html>
<html lang="en" data-base="${basePath}" data-token="${token}" data-claim="${claim}"
  data-issuer="${issuer}" data-client="${client}" data-scope="${scope}" data-audience="${config.AUTH_AUDIENCE?.[0]}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Fleet Gateway</title>
<script src="${at('theme.js')}"></script>
<link rel="icon" href="${at('icon.svg')}">
<link rel="stylesheet" href="${at('console.css')}">
<script type="importmap">${new Html(map)}</script>
${assets.first.map((path) => html`<link rel="modulepreload" href="${at(path)}">\n`)}
<script type="module" src="${at('app.js')}"></script>
<body><noscript>
  <p>The console is drawn by scripts. Without them, use <a href="${basePath}/docs">the REST reference</a>.</p>
</noscript></body>
</html>
`;
  return { html: page.text, policy: policyOf(map, issuer) };
}

const policyOf = (map: string, issuer?: string): string =>
  `default-src 'none'; script-src 'self' ${hashOf(map)}; style-src 'self'; img-src 'self'; ` +
  `connect-src 'self'${issuer ? ` ${new URL(issuer).origin}` : ''}; base-uri 'none'; form-action 'none'; ` +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
