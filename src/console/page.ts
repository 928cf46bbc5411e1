import { Html, hashOf, html } from '../http/pages/html.ts';
import type { ConsoleAssets } from './assets.ts';

export interface Page {
  html: string;
  /** Its Content-Security-Policy. */
  policy: string;
}

interface Situation {
  /** A token for trying things out, in development. */
  token: string | undefined;
  /** The claim of tokens that names the company. */
  claim: string;
  /** GraphiQL is there to be linked to. */
  graphiql: boolean;
}

/** The page at `/console`: modules find their libraries by an import map, the only thing that stands in the page itself. */
export function consolePage(assets: ConsoleAssets, { token, claim, graphiql }: Situation): Page {
  const at = (path: string) => `/console/${assets.version}/${path}`;
  const imports = Object.fromEntries(Object.entries(assets.libraries).map(([name, path]) => [name, at(path)]));
  const map = JSON.stringify({ imports });
  const modules = [...assets.files.keys()].filter((path) => path.endsWith('.js') && path !== 'theme.js');
  const styles = [...assets.files.keys()].filter((path) => path.endsWith('.css'));
  const page = html`<!doctype html>
<html lang="en" data-token="${token}" data-claim="${claim}" data-graphiql="${graphiql ? 'on' : ''}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Fleet Gateway</title>
<script src="${at('theme.js')}"></script>
<link rel="icon" href="${at('icon.svg')}">
${styles.map((path) => html`<link rel="stylesheet" href="${at(path)}">\n`)}
<script type="importmap">${new Html(map)}</script>
${modules.map((path) => html`<link rel="modulepreload" href="${at(path)}">\n`)}
<script type="module" src="${at('app.js')}"></script>
<body><noscript>
  <p>The console is drawn by scripts. Without them, use <a href="/docs">the REST reference</a>.</p>
</noscript></body>
</html>
`;
  return { html: page.text, policy: policyOf(map) };
}

const policyOf = (map: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${hashOf(map)}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
