import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/** CPU time of a process's main thread, and the time it waited for a CPU. Measured on Linux only. */
function scheduled(pid: number | undefined): { ran: number; waited: number } {
  if (process.platform !== 'linux') return { ran: performance.now(), waited: 0 };
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
  return { ran, waited };
}

interface Look {
  /** The start, in milliseconds of Date.now(). */
  began: number;
  times: number[];
}

const IDLE = `require('node:http').createServer((_, res) => res.end('ok')).listen(0, '127.0.0.1', function () {
  console.log(this.address().port);
})`;

/** Polls the service and an idle server beside it, continuously and at the same moments. */
export class Probe {
  readonly #looks: Look[] = [];

  static async open(url: string): Promise<Probe> {
    const idle = spawn(process.execPath, ['-e', IDLE], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = await once(idle.stdout, 'data');
    const urls = [url, `http://127.0.0.1:${String(port).trim()}/`];
    const worker = new Worker(new URL('./probe-worker.ts', import.meta.url), { workerData: { urls } });
    onTestFinished(async () => {
      await worker.terminate();
      idle.kill();
    });
    const probe = new Probe();
    worker.on('message', (look: Look) => probe.#looks.push(look));
    await once(worker, 'message');
    return probe;
  }

  /**
   * How many milliseconds longer than the idle server the service made a request wait while `work` ran, less the
   * share of time in which process `pid` waited for a CPU.
   */
  async heldBy(pid: number | undefined, work: () => Promise<unknown>): Promise<number> {
    const began = Date.now();
    const before = scheduled(pid);
    await work();
    const after = scheduled(pid);
    // Includes the poll that was under way at the end.
    const ended = Date.now();
    while ((this.#looks.at(-1)?.began ?? 0) <= ended) await delay(5);
    const during = this.#looks.filter((look) => look.began + Math.max(...look.times) >= began && look.began <= ended);
    const longest = (at: number) => Math.max(0, ...during.map(({ times }) => times[at] ?? 0));
    const ran = after.ran - before.ran;
    const share = ran / Math.max(ran + after.waited - before.waited, 1);
    return Math.max(0, longest(0) - longest(1)) * share;
  }
}
