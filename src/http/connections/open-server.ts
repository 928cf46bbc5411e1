import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';

const HEADERS_MS = 10_000;
/** Longer than proxies keep an idle connection (60 seconds), so that none is closed under a request. */
const KEEP_ALIVE_MS = 75_000;
/** Probes find half-open connections, such as those of a follower whose machine is off. */
const PROBE_MS = 60_000;
/** The slowest body or answer, and its longest pause. */
const BYTES_PER_SECOND = 4096;
const PATIENCE_MS = 30_000;
const SWEEP_MS = 5_000;

type BadRequest = readonly [status: string, advice: string];

/** Answers to errors of Node's parser, by code. */
const badRequests: Readonly<Record<string, BadRequest>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The headers must arrive within 10 seconds.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'Send chunks without extensions.'],
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The address and the headers have at most 16 kB together: send fewer values in the address, or send them in the body.',
  ],
  HPE_INVALID_URL: ['400 Bad Request', 'Letters other than A to Z and blanks in the address are encoded: ü as %C3%BC.'],
};
const otherBadRequest: BadRequest = ['400 Bad Request', 'This is no valid request of HTTP/1.1 (http://, without TLS).'];

export interface Upgrades {
  /** False for an ordinary request. */
  accepts(request: IncomingMessage): boolean;
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** The progress of one connection. Times are of `performance.now()`. */
class Progress {
  readonly opened = performance.now();
  /** Answers that are not sent completely; pipelined requests have several. */
  answers: ServerResponse[] = [];
  request: IncomingMessage | null = null;
  began = 0;
  bytesBefore = 0;
  read = 0;
  readAt = 0;
  written = 0;
  writtenAt = performance.now();

  begin(request: IncomingMessage, answer: ServerResponse): void {
    this.answers = [...this.answers.filter(isUnsent), answer];
    if (request.complete) return;
    this.request = request;
    this.began = this.readAt = performance.now();
    this.bytesBefore = this.read = request.socket.bytesRead;
  }
}

/** A server of at most LIMIT_CONNECTIONS connections, which cuts those whose client sends or takes too slowly. */
export function openServer(app: Express, upgrades: Upgrades, { LIMIT_CONNECTIONS }: Config, log: Logger): Server {
  const progress = new Map<Socket, Progress>();
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      // An upload may take hours.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_MS,
      shouldUpgradeCallback: (request) => !namesTwoHosts(request) && upgrades.accepts(request),
    },
    (request, response) => {
      progress.get(request.socket)?.begin(request, response);
      if (namesTwoHosts(request)) response.writeHead(400, { Connection: 'close' }).end();
      else app(request, response);
    },
  );
  server.on('upgrade', upgrades.accept);
  server.maxConnections = LIMIT_CONNECTIONS;
  server.on('connection', (socket) => {
    progress.set(socket, new Progress());
    socket.once('close', () => progress.delete(socket));
  });
  server.on('clientError', (error, socket) =>
    answerBadRequest(error, socket as Socket, progress.get(socket as Socket)),
  );
  let dropped = 0;
  server.on('drop', () => {
    dropped += 1;
  });
  const sweep = setInterval(() => {
    // Without a reset the system would go on sending to a slow reader.
    for (const [socket, one] of progress) if (isTooSlow(socket, one)) socket.resetAndDestroy();
    if (dropped > 0) log.warn({ dropped, LIMIT_CONNECTIONS }, 'connections were dropped: there are too many');
    dropped = 0;
  }, SWEEP_MS).unref();
  server.once('close', () => clearInterval(sweep));
  return server;
}

const isUnsent = ({ writableFinished }: ServerResponse): boolean => !writableFinished;

function answerBadRequest(error: NodeJS.ErrnoException, socket: Socket, progress: Progress | undefined): void {
  // A client that begins at this moment would take an error for its answer.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return;
  const isAnswering = progress?.answers.some((answer) => answer.headersSent && isUnsent(answer));
  if (socket.writable && !isAnswering) {
    const [status, advice] = badRequests[error.code ?? ''] ?? otherBadRequest;
    const length = Buffer.byteLength(advice);
    const headers = `Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${length}`;
    socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${advice}`);
  }
  socket.destroy(error);
}

function isTooSlow(socket: Socket, progress: Progress): boolean {
  const now = performance.now();
  const saysNothing = socket.bytesRead === 0 && now - progress.opened > KEEP_ALIVE_MS;
  return saysNothing || readsTooSlowly(socket, progress, now) || writesTooSlowly(socket, progress, now);
}

/** A body has half a minute, and a second more for each 4 kB; it may not pause for half a minute. */
function readsTooSlowly({ bytesRead }: Socket, progress: Progress, now: number): boolean {
  const { request, began, bytesBefore } = progress;
  if (!request) return false;
  if (request.complete) {
    progress.request = null;
    return false;
  }
  // Unread bytes are the server's own delay: a busy database slows an upload.
  if (bytesRead !== progress.read || request.readableLength > 0) {
    progress.read = bytesRead;
    progress.readAt = now;
  }
  const allowed = PATIENCE_MS + ((bytesRead - bytesBefore) / BYTES_PER_SECOND) * 1000;
  return now - progress.readAt > PATIENCE_MS || (now - began > allowed && request.readableLength === 0);
}

/** Waiting bytes have half a minute, and a second more for each 4 kB. Progress is known per piece of an answer. */
function writesTooSlowly(socket: Socket, progress: Progress, now: number): boolean {
  const { writableLength } = socket;
  const taken = socket.bytesWritten - writableLength;
  if (writableLength === 0 || taken !== progress.written) {
    progress.written = taken;
    progress.writtenAt = now;
    return false;
  }
  return now - progress.writtenAt > PATIENCE_MS + (writableLength / BYTES_PER_SECOND) * 1000;
}

/** Two servers that read such a request could each take another one (RFC 9112, section 3.2). */
const namesTwoHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1;
