import type { HttpServices } from '../request-context.ts';

/** The text for newcomers at start: addresses, and a command that works. */
export async function welcome(
  { config, database, manufacturers, authenticator }: HttpServices,
  port: number,
): Promise<string> {
  const base = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
  const providers = [...new Set(manufacturers.list().flatMap(({ provider }) => provider ?? []))];
  const lines = [
    `Fleet Gateway is ready on ${base}`,
    ...(config.CONSOLE ? [`  Console               ${base}/console`] : []),
    `  GraphQL               ${base}/graphql${config.GRAPHIQL ? ' (GraphiQL in a browser)' : ''}`,
    `  REST                  ${base}/fleets`,
    `  Database              ${database.kind === 'embedded' ? `embedded, in ${config.DATA_DIR}` : 'PostgreSQL'}`,
    `  Manufacturers         asked through ${providers.join(', ')}`,
  ];
  if (authenticator.issue) {
    const token = await authenticator.issue({ company: 'demo' });
    lines.push(
      '',
      'Create a fleet (the token is for the company "demo"; npm run token makes others):',
      '',
      curl(base, token),
      '',
    );
  }
  return lines.join('\n');
}

const curl = (base: string, token: string) =>
  `curl -s ${base}/fleets -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' ` +
  `-d '{"name":"Demo fleet","companyAddress":"1 Main Street, Berlin","email":"fleet@example.com","vat":"DE123456789"}'`;
