import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll } from 'vitest';

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;

/** A proxy as companies have them: CONNECT for https, whole addresses for http (RFC 9110, sections 7.1 and 9.3.6). */
export class ConnectProxy {
  /** What it was asked for. */
  readonly asked: string[] = [];
  /** The port of this machine for each host and port that only the proxy can reach; others are reached as they are named. */
  readonly routes = new Map<string, number>();
  /** The value of Proxy-Authorization that it demands. */
  credentials: string | undefined;
  readonly #server = createServer((from, answer) => {
    this.asked.push(`${from.method} ${from.url}`);
    if (!this.#mayPass(from)) return void answer.writeHead(407).end();
    const { 'proxy-connection': _, ...headers } = from.headers;
    const onward = request(String(from.url), { method: from.method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    from.pipe(onward);
  });

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    proxy.#server.on('connect', (from, client) => proxy.#tunnel(from, client as Socket));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    afterAll(() => {
      proxy.#server.close();
      proxy.#server.closeAllConnections();
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  #mayPass({ headers }: IncomingMessage): boolean {
    return this.credentials === undefined || headers['proxy-authorization'] === this.credentials;
  }

  #tunnel(from: IncomingMessage, client: Socket): void {
    this.asked.push(`CONNECT ${from.url}`);
    client.on('error', () => {});
    if (!this.#mayPass(from)) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(from.url ?? '') ?? [];
    const route = this.routes.get(String(from.url));
    const target = route ? connect(route, '127.0.0.1') : connect(Number(port), host);
    target.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    client.on('close', () => target.destroy());
  }
}

/** A server of TLS for these names in front of a plain one; `certificate` is the file of its authority. */
export async function startTls(names: readonly string[], port: number) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-names-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const subject = ['-subj', '/CN=names', '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'rsa:2048', ...files, ...subject], { stdio: 'pipe' });
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    const target = connect(port, '127.0.0.1');
    for (const one of [socket, target]) one.on('error', () => {});
    socket.on('close', () => target.destroy());
    target.pipe(socket).pipe(target);
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { port: portOf(server), certificate };
}
