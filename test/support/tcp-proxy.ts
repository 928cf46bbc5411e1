import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type Address = { host: string; port: number };

/** A database's address without what it says about TLS, which names the server. */
export function withoutTls(address: URL): string {
  for (const name of ['sslmode', 'sslrootcert']) address.searchParams.delete(name);
  return address.href.replace(/\/$/, '');
}

/**
 * A TCP proxy that fails on command: `hang` forwards nothing and loses nothing, `delayMs` delays every chunk,
 * `cut` breaks open connections, `refuse` rejects new ones, and answers of the server can be dropped.
 */
export class TcpProxy {
  /** The address to which new connections lead. */
  target: Address;
  delayMs = 0;
  refuse = false;
  /** Connections that were refused. */
  refused = 0;
  /** Called with each chunk from the client; true drops all further answers of the server. */
  swallowAnswersAfter: (sent: Buffer) => boolean = () => false;
  /** If set, receives each chunk of the server instead of the client. */
  swallowAnswer: ((said: Buffer) => void) | undefined;
  /** If set, transforms the first chunk from a client. */
  firstPiece: ((sent: Buffer) => Buffer) | undefined;
  readonly #due = new WeakMap<Socket, number>();
  #hanging = false;
  readonly #pairs = new Set<[Socket, Socket]>();
  readonly #server = createServer({ pauseOnConnect: true }, (client) => this.#open(client));

  static async start(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new TcpProxy({ host: hostname, port: Number(port) });
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  constructor(target: Address) {
    this.target = target;
  }

  /** The URL with this proxy's address, and without TLS, in which it would see nothing. */
  through(url: string): string {
    return withoutTls(Object.assign(new URL(url), { hostname: '127.0.0.1', port: this.#port }));
  }

  get #port(): string {
    return String((this.#server.address() as AddressInfo).port);
  }

  set hang(hang: boolean) {
    this.#hanging = hang;
    for (const socket of [...this.#pairs].flat()) hang ? socket.pause() : socket.resume();
  }

  /** Breaks open connections: as a firewall does, or in order as a server that ends. */
  cut(how: 'reset' | 'end' = 'reset'): void {
    for (const socket of [...this.#pairs].flat()) how === 'end' ? socket.destroy() : socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #open(client: Socket): void {
    if (this.refuse) {
      this.refused += 1;
      return void client.resetAndDestroy();
    }
    const server = connect(this.target);
    const pair: [Socket, Socket] = [client, server];
    this.#pairs.add(pair);
    let swallowing = false;
    let first = true;
    client.on('data', (sent: Buffer) => {
      swallowing ||= this.swallowAnswersAfter(sent);
      this.#send(server, first && this.firstPiece ? this.firstPiece(sent) : sent);
      first = false;
    });
    server.on('data', (said: Buffer) => {
      if (this.swallowAnswer) this.swallowAnswer(said);
      else if (!swallowing) this.#send(client, said);
    });
    for (const [socket, other] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      socket.on('error', () => other.resetAndDestroy());
      socket.on('end', () => setTimeout(() => other.end(), this.delayMs));
      socket.on('close', () => {
        this.#pairs.delete(pair);
        other.destroySoon();
      });
    }
    if (this.#hanging) server.pause();
    else client.resume();
  }

  #send(to: Socket, piece: Buffer): void {
    const now = performance.now();
    const before = this.#due.get(to) ?? 0;
    if (this.delayMs === 0 && before < now) return void to.write(piece);
    // Keeps the order of chunks when the delay becomes shorter.
    const due = Math.max(now + this.delayMs, before + 2);
    this.#due.set(to, due);
    setTimeout(() => to.writable && to.write(piece), due - now);
  }
}
