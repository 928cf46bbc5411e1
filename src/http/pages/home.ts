import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import type { HttpServices } from '../request-context.ts';
import { Html, hashOf, html } from './html.ts';

const readOwn = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');
const style = readOwn('home.css');
const script = readOwn('home.js');

export const homePolicy =
  `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; img-src data:; base-uri 'none'; ` +
  `form-action 'none'; frame-ancestors 'none'`;

const providersOf = (manufacturers: HttpServices['manufacturers']): string =>
  [...new Set(manufacturers.list().flatMap(({ provider }) => provider ?? []))].join(', ') || 'none';

/** The page at `/`: what is running, and where everything is; with a token, commands that work. */
export function home(
  services: HttpServices,
  { origin, basePath }: { origin: string; basePath: string },
  token: string | undefined,
): string {
  const { CONSOLE, GRAPHIQL, INTROSPECTION } = services.config;
  const manufacturers = services.manufacturers.list();
  const supported = manufacturers.filter((one) => one.supported);
  const database = services.database.kind === 'embedded' ? 'embedded in this process' : 'PostgreSQL';
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Fleet Gateway</title>
<link rel="icon" href="data:,">
${new Html(`<style>${style}</style>`)}
<header>
  <h1>Fleet Gateway</h1>
  <p>Fleets, vehicles, eligibility and contracts, over GraphQL and REST.</p>
</header>
<main>
  ${
    CONSOLE
      ? html`<h2>For fleet managers</h2>
  ${list(basePath, [['/console', 'Console', 'Manage fleets, vehicles and contracts, upload files, see eligibility']])}`
      : ''
  }
  <h2>For developers</h2>
  ${list(basePath, [
    GRAPHIQL && ['/graphql', 'GraphiQL', 'Write and run queries, mutations and subscriptions'],
    ['/docs', 'REST reference', 'Every operation, with examples, to try out'],
    INTROSPECTION && ['/schema.graphql', 'GraphQL schema', 'The whole schema as a file'],
    ['/openapi.json', 'OpenAPI document', 'For generators of clients'],
  ])}
  ${token ? commands(origin + basePath, token) : ''}
  <h2>For operators</h2>
  ${list(basePath, [
    ['/livez', 'Liveness', 'Says whether the process runs'],
    ['/readyz', 'Readiness', 'Says whether it can do its work'],
    ['/metrics', 'Metrics', 'For Prometheus'],
  ])}
  <h2>What is running</h2>
  <dl>
    <dt>Version<dd>${packageJson.version}
    <dt>Database<dd>${database}
    <dt>Providers<dd>${providersOf(services.manufacturers)}
    <dt>Manufacturers<dd>${supported.length} of ${manufacturers.length} are connected:
      ${supported.map(({ name }) => name).join(', ')}
  </dl>
</main>
${token ? new Html(`<script>${script}</script>`) : ''}
</html>
`.text;
}

type Address = readonly [href: string, name: string, about: string];

/** A list of the addresses that this gateway has. */
const list = (basePath: string, addresses: readonly (Address | false)[]): Html => html`<ul>
${addresses
  .filter((one) => one !== false)
  .map(
    ([href, name, about]) => html`    <li><a href="${basePath}${href}">${name}</a><small>${about}</small>
`,
  )}  </ul>`;

const fleet =
  '{"name":"Demo fleet","companyAddress":"1 Main Street, Berlin","email":"fleet@example.com","vat":"DE123456789"}';
const query = '{"query":"{ fleets { totalCount nodes { id name vehicleCount } } }"}';

/** Text to copy, in a field whose text the keyboard can select. */
const copied = (label: string, rows: number, text: string): Html => {
  const id = label.toLowerCase().replaceAll(' ', '-');
  return html`<label for="${id}">${label}</label>
<textarea id="${id}" readonly spellcheck="false" rows="${rows}">${text}</textarea>`;
};

const command = (base: string, path: string, body: string): string => `curl ${base}${path} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`;

const commands = (base: string, token: string): Html => html`
  <h2>Try it</h2>
  <p>This gateway runs for development and makes its own tokens. Here is one for the company “demo”, good for 30 days;
    <code>npm run token</code> makes others. Copy the three into a terminal:</p>
  ${copied('The token', 5, `TOKEN='${token}'`)}
  ${copied('Create a fleet over REST', 5, command(base, '/fleets', fleet))}
  ${copied('List fleets over GraphQL', 4, command(base, '/graphql', query))}`;

/** The text for newcomers at start: addresses, and a command that works. */
export async function welcome(services: HttpServices, port: number): Promise<string> {
  const { config, database, manufacturers, authenticator } = services;
  const base = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
  const token = await authenticator.issue?.({ company: 'demo' });
  return [
    `Fleet Gateway is ready on ${base}`,
    ...(config.CONSOLE
      ? [`  Console               ${base}/console (manage fleets, vehicles and contracts in a browser)`]
      : []),
    `  GraphQL               ${base}/graphql${config.GRAPHIQL ? ' (GraphiQL in a browser)' : ''}`,
    `  REST                  ${base}/fleets`,
    `  Database              ${database.kind === 'embedded' ? `embedded, in ${config.DATA_DIR}` : 'PostgreSQL'}`,
    `  Manufacturers         connected through ${providersOf(manufacturers)}`,
    ...(token ? ['', CREATE, '', curl(base, token), ''] : []),
  ].join('\n');
}

const CREATE = 'Create a fleet (the token is for the company "demo"; npm run token makes others):';

const curl = (base: string, token: string) =>
  `curl -sS ${base}/fleets -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${fleet}'`;
