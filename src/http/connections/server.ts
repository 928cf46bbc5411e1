import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';

/** A client's headers arrive in one piece, or nearly. */
const HEADERS_MS = 10_000;
/** Longer than proxies keep an idle connection (60 seconds): who closes it first may do so under a request. */
const KEEP_ALIVE_MS = 75_000;
/** Half-open connections, such as those of a follower whose machine has gone, are noticed. */
const PROBE_MS = 60_000;
/** A body, or an answer, may go by as slowly as this, and may stand still for as long as that. */
const BYTES_PER_SECOND = 4096;
const PATIENCE_MS = 30_000;
const SWEEP_MS = 5_000;

/** Texts for errors of Node's parser, by code; other errors are bad requests. */
const badRequests: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/** Handlers of requests to upgrade their connection. */
export interface Upgrades {
  /** False: it is a request like any other. */
  accepts(request: IncomingMessage): boolean;
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** How far one connection has got. Times are of `performance.now()`. */
class Progress {
  readonly opened = performance.now();
  /** The answers that have not been sent completely: of pipelined requests there are several. */
  answers: ServerResponse[] = [];
  /** The request that is being read, and where its body began. */
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

/**
 * A server that no client can hold up: connections are at most LIMIT_CONNECTIONS, and those whose client sends or takes too
 * slowly are cut. Node's own limit for a whole request is off, since an upload may take hours as long as it arrives.
 */
export function openServer(app: Express, upgrades: Upgrades, { LIMIT_CONNECTIONS }: Config, log: Logger): Server {
  const progress = new Map<Socket, Progress>();
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
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
    // Reset, since the system would go on offering what a slow reader has not taken.
    for (const [socket, one] of progress) if (isTooSlow(socket, one)) socket.resetAndDestroy();
    if (dropped > 0) log.warn({ dropped, LIMIT_CONNECTIONS }, 'connections were dropped: there are too many');
    dropped = 0;
  }, SWEEP_MS).unref();
  server.once('close', () => clearInterval(sweep));
  return server;
}

const isUnsent = ({ writableFinished }: ServerResponse): boolean => !writableFinished;

function answerBadRequest(error: NodeJS.ErrnoException, socket: Socket, progress: Progress | undefined): void {
  // A client that has sent nothing may begin at this moment, and would take an error for the answer.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return;
  const isAnswering = progress?.answers.some((answer) => answer.headersSent && isUnsent(answer));
  if (socket.writable && !isAnswering) {
    socket.write(`HTTP/1.1 ${badRequests[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  }
  socket.destroy(error);
}

function isTooSlow(socket: Socket, progress: Progress): boolean {
  const now = performance.now();
  const saysNothing = socket.bytesRead === 0 && now - progress.opened > KEEP_ALIVE_MS;
  return saysNothing || readsTooSlowly(socket, progress, now) || writesTooSlowly(socket, progress, now);
}

/** A body has half a minute, and a second more for each 4 kB of it; and it may not stand still for half a minute. */
function readsTooSlowly({ bytesRead }: Socket, progress: Progress, now: number): boolean {
  const { request, began, bytesBefore } = progress;
  if (!request) return false;
  if (request.complete) {
    progress.request = null;
    return false;
  }
  // Bytes that have arrived and are not read yet are our own delay: a busy database slows an upload.
  if (bytesRead !== progress.read || request.readableLength > 0) {
    progress.read = bytesRead;
    progress.readAt = now;
  }
  const allowed = PATIENCE_MS + ((bytesRead - bytesBefore) / BYTES_PER_SECOND) * 1000;
  return now - progress.readAt > PATIENCE_MS || (now - began > allowed && request.readableLength === 0);
}

/**
 * What waits to be taken has half a minute, and a second more for each 4 kB of it: how much the client has taken is known when it
 * has taken a whole piece. Long answers are sent in pieces (http/body.ts). An event stream with nothing to say has nothing waiting.
 */
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
