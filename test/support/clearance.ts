import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clearanceServer } from '../../src/manufacturers/clearance-server.ts';
import { type Answer, findOperation } from '../../src/manufacturers/operations.ts';

export interface ClearanceFaults {
  /** What becomes of a request: carried out and answered; answered with this instead; carried out, and the connection cut. */
  fault(method: string, path: string): Answer | 'CUT' | null;
  decide(vin: string): { status: 'approved' | 'rejected'; afterMs: number; reason?: string };
  clock(): number;
}

/** High Mobility's token and clearances on a port of this machine. Its credentials are `client` and `secret`. */
export async function startClearances({ fault, decide, clock }: ClearanceFaults) {
  const clearances = clearanceServer({
    bars: ({ headers }) => (headers.authorization === 'Bearer token' ? null : [401, { errors: [] }]),
    decide,
    endsAfterMs: 60_000,
    clock,
  });
  const asked: string[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const { method = '', url = '', headers } = request;
    if (url === '/v1/access_tokens') return send(response, [200, { access_token: 'token', expires_in: 300 }]);
    asked.push(`${method} ${url.split('?')[0]}`);
    const wrong = fault(method, url);
    if (wrong && wrong !== 'CUT') return send(response, wrong);
    const answer = await findOperation(clearances.operations, { method, url, headers, text }).answer();
    if (wrong === 'CUT') return void response.destroy();
    send(response, answer);
  }

  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    statusOf: (vin: string) => clearances.find(vin)?.status,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function send(response: ServerResponse, [status, body, headers]: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
