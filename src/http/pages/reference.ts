import { html } from './html.ts';

export const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The page at `/docs`: the reference that Swagger UI makes of /openapi.json. The token is for trying things out. */
export const reference = (token: string | undefined): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>REST reference – Fleet Gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/reference.css">
<nav><a href="/">Fleet Gateway</a></nav>
<div id="reference" data-token="${token}">
  <noscript>
    <p>This page is drawn by a script. Without scripts, read <a href="/openapi.json">the OpenAPI document</a>.</p>
  </noscript>
</div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>
</html>
`.text;
