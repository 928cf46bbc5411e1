import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// In a thread of its own: what the test itself is busy with would look like the service's delay.
const { urls } = workerData as { urls: string[] };
const agent = new Agent({ keepAlive: true });

const timeOf = (url: string): Promise<number> =>
  new Promise((resolve) => {
    const began = performance.now();
    const answered = () => resolve(performance.now() - began);
    get(url, { agent }, (response) => response.resume().once('end', answered)).once('error', answered);
  });

for (;;) {
  const began = Date.now();
  parentPort?.postMessage({ began, times: await Promise.all(urls.map(timeOf)) });
  await delay(10);
}
