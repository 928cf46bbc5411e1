import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A gateway as a process of its own, on a port that stays the same through restarts. */
export interface GatewayProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Sends the signal and gives the exit code, null where it was killed. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Starts a gateway with these settings; resolves when it serves. */
export async function startProcess(settings: NodeJS.ProcessEnv, port?: number): Promise<GatewayProcess> {
  const ownPort = port ?? (await freePort());
  const child = spawn(process.execPath, startArguments(), {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'error', ...settings, PORT: String(ownPort) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  // The first thing it prints is that it is ready.
  await Promise.race([
    once(child.stdout, 'data'),
    exited.then((code) => Promise.reject(new Error(`The gateway ended with ${code} before it was ready.`))),
  ]);
  child.stdout.resume();
  return {
    url: `http://127.0.0.1:${ownPort}`,
    port: ownPort,
    child,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
}

/** As `npm start` starts it, or with BENCH_NODE_ARGS in place of its flags. */
export function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { start: string } };
  const flags = process.env.BENCH_NODE_ARGS;
  return flags === undefined ? scripts.start.split(' ').slice(1) : [...flags.split(' ').filter(Boolean), 'src/main.ts'];
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
