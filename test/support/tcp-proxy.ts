import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type Address = { host: string; port: number };

/**
 * A stretch of network between two ends, faulty on command: `hang` forwards nothing and loses nothing, `delayMs` makes
 * every piece late, `cut` breaks what is open, `refuse` lets nobody connect, and answers can be swallowed.
 */
export class TcpProxy {
  /** Where the next connections lead. */
  target: Address;
  delayMs = 0;
  refuse = false;
  /** Called with each piece from the client; true loses everything that the server says from then on. */
  swallowAnswersAfter: (sent: Buffer) => boolean = () => false;
  /** Where there is one, it is called with each piece that the server says, in place of sending it on. */
  swallowAnswer: ((said: Buffer) => void) | undefined;
  /** Where there is one, what it makes of the first piece from a client is sent in its place. */
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

  /** The same address, by way of this proxy. */
  through(url: string): string {
    return Object.assign(new URL(url), { hostname: '127.0.0.1', port: this.#port }).href.replace(/\/$/, '');
  }

  get #port(): string {
    return String((this.#server.address() as AddressInfo).port);
  }

  set hang(hang: boolean) {
    this.#hanging = hang;
    for (const socket of [...this.#pairs].flat()) hang ? socket.pause() : socket.resume();
  }

  cut(): void {
    for (const socket of [...this.#pairs].flat()) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #open(client: Socket): void {
    if (this.refuse) return void client.resetAndDestroy();
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
    // Never before the piece before it, also when the delay has become shorter.
    const due = Math.max(now + this.delayMs, before + 2);
    this.#due.set(to, due);
    setTimeout(() => to.writable && to.write(piece), due - now);
  }
}
