import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from './measure.ts';

/** Small requests by name. */
export type SmallRequests = Readonly<Record<string, () => Promise<Response>>>;
/** Milliseconds of each small request, by name. */
export type Times = ReadonlyMap<string, readonly number[]>;

/** Sends small requests while `work` runs, each `pace` milliseconds after the previous response. */
export async function sendDuring(work: () => Promise<unknown>, small: SmallRequests, pace: number): Promise<Times> {
  const times = new Map(Object.keys(small).map((name) => [name, [] as number[]]));
  let ended = false;
  const over = work().finally(() => {
    ended = true;
  });
  // `over` is awaited below, unless a small request fails first.
  over.catch(() => {});
  while (!ended) {
    for (const [name, request] of Object.entries(small)) {
      const started = performance.now();
      const response = await request();
      if (!response.ok && response.status !== 400 && response.status !== 409)
        throw new Error(`${name}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      times.get(name)?.push(performance.now() - started);
      await delay(pace);
    }
  }
  await over;
  return times;
}

/** Prints the times, and p99 as a multiple of the usual p99. */
export function report(when: string, times: Times, usual: Times): void {
  console.log(when);
  for (const [name, values] of times) {
    const [p50, p99, max] = [quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)];
    const ratio = p99 / quantile(usual.get(name) ?? [], 0.99);
    console.log(
      `  ${name.padEnd(26)} p50 ${p50.toFixed(1)}   p99 ${p99.toFixed(1)}   max ${max.toFixed(1)} ms   ratio ${ratio.toFixed(2)}   (${values.length} requests)`,
    );
  }
}
