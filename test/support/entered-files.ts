import type { Profiler } from 'node:inspector';
import { pathToFileURL } from 'node:url';
import { afterAll } from 'vitest';
import { WebSocket } from 'ws';
import type { SpawnedGateway } from './gateway.ts';
import { until } from './until.ts';

const SOURCES = `${pathToFileURL('src')}/`;
const TRIES = 5;

/** Finds which source files a gateway enters for a request, by V8's coverage; start the gateway with `--inspect`. */
export async function enteredFiles({ output }: SpawnedGateway) {
  const address = await until(() => /Debugger listening on (ws:\S+)/.exec(output())?.[1] ?? null);
  const socket = new WebSocket(address);
  afterAll(() => socket.terminate());
  const waiting = new Map<number, (result: unknown) => void>();
  socket.on('message', (data) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
  });
  await new Promise((resolve) => socket.once('open', resolve));

  let sent = 0;
  const ask = <Result>(method: string, params: object = {}): Promise<Result> => {
    const id = ++sent;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => waiting.set(id, resolve as (result: unknown) => void));
  };
  /** Files in which a function was called since the last call. */
  const take = async () => {
    const { result } = await ask<Profiler.TakePreciseCoverageReturnType>('Profiler.takePreciseCoverage');
    return result
      .filter(({ url, functions }) => url.startsWith(SOURCES) && functions.some(({ ranges }) => ranges[0]?.count))
      .map(({ url }) => url.slice(SOURCES.length));
  };
  await ask('Profiler.enable');
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

  return async (send: () => Promise<unknown>): Promise<string[]> => {
    let files: Set<string> | undefined;
    // Background work does not run in every try, so the intersection of all tries leaves it out.
    for (let at = 0; at < TRIES; at++) {
      await take();
      await send();
      const found = new Set(await take());
      files = files ? files.intersection(found) : found;
    }
    return [...(files ?? [])].sort();
  };
}
