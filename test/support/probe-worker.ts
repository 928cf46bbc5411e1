import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// Runs in its own thread: the test's own work would look like a delay of the service.
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
