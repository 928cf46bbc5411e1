import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import type { RequestHandler } from 'express';
import { ownToken } from '../http/own-token.ts';
import type { HttpServices } from '../http/request-context.ts';

/** The page is one file with its scripts, styles and fonts inside; it talks to this server and to nobody else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'worker-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** GraphiQL for browsers. In development its headers hold a ready token. */
export function graphiql(services: HttpServices): RequestHandler {
  return async (req, res, next) => {
    if (req.method !== 'GET' || !req.get('Accept')?.includes('text/html')) return next();
    const token = (await ownToken(services, req)) ?? '<token>';
    const headers = JSON.stringify({ Authorization: `Bearer ${token}` }, null, 2);
    res.set('Content-Security-Policy', POLICY).set('Cache-Control', 'no-store').type('html');
    res.send(
      renderGraphiQL({
        title: 'Fleet Gateway',
        defaultTabs: tabs.map((query) => ({ query, headers })),
        defaultHeaders: headers,
        headers,
        subscriptionsProtocol: 'SSE',
      }),
    );
  };
}

const tabs = [
  `# Your fleets, with the first of their vehicles. Ctrl-Enter runs this; Ctrl-Space completes.
query Fleets {
  fleets(first: 10) {
    totalCount
    nodes {
      id
      name
      eligibilitySummary { pending eligible ineligible unsupported failed }
      vehicles(first: 5) {
        totalCount
        nodes { vin manufacturer { name } eligibility { status reason { message } } }
      }
    }
  }
}
`,
  `mutation CreateFleet {
  createFleet(input: {
    name: "North"
    companyAddress: "Main Street 1, 10115 Berlin"
    email: "fleet@example.com"
    vat: "DE123456789"
  }) {
    fleet { id name }
  }
}
`,
  `# Put the id of a fleet here.
mutation AddVehicles {
  addVehicles(input: { fleetId: "", vins: ["WBA3A5C50CF256521"] }) {
    summary { received created existing rejected }
    vehicles { id vin eligibility { status } }
    rejected { value code message }
  }
}
`,
  `subscription EligibilityChanged {
  eligibilityChanged { vin status eligible manufacturer { name } }
}
`,
];
