import { setTimeout as delay } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Pool } from 'undici';
import { quantile } from './measure.ts';

export interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface LoadResult {
  /** Responses per second. */
  rate: number;
  answers: number;
  /** Latencies in milliseconds. */
  p50: number;
  p99: number;
}

export interface Load {
  url: string;
  /** A request that is repeated, or a function that makes each request. */
  request: Request | (() => Request);
  connections?: number;
  seconds: number;
  /** Stops after this number of requests instead, for requests that use up rows. */
  amount?: number | undefined;
}

/** Sends on each connection the next request after each response. Throws for error responses. */
export async function closedLoop({ url, request, connections = 16, seconds, amount }: Load): Promise<LoadResult> {
  const began = performance.now();
  const result = await autocannon({
    url,
    connections,
    ...(amount === undefined ? { duration: seconds } : { amount }),
    timeout: 60,
    ...(typeof request === 'function'
      ? { requests: [{ setupRequest: (usual) => Object.assign(usual, request()) }] }
      : { ...request, url: url + request.path }),
  });
  const answers = result['2xx'];
  if (result.non2xx || result.errors) {
    throw new Error(`${result.non2xx} refusals, ${result.errors} errors: ${JSON.stringify(result.statusCodeStats)}`);
  }
  const taken = amount === undefined ? result.duration : (performance.now() - began) / 1000;
  return { rate: answers / taken, answers, p50: result.latency.p50, p99: result.latency.p99 };
}

/**
 * Sends requests at this rate even if earlier ones are unanswered, as independent clients do. Latencies count from the
 * time at which a request was due.
 */
export async function openLoop(
  url: string,
  rate: number,
  seconds: number,
  request: () => Request,
): Promise<LoadResult> {
  await using pool = Object.assign(new Pool(url, { connections: 256 }), {
    [Symbol.asyncDispose]: () => pool.close(),
  });
  const times: number[] = [];
  const under = new Set<Promise<void>>();
  const send = async (due: number) => {
    const { statusCode, body } = await pool.request(request());
    await body.dump();
    if (statusCode >= 300) throw new Error(`refused with ${statusCode}`);
    times.push(performance.now() - due);
  };
  const began = performance.now();
  for (let due = began; due < began + seconds * 1000; due += 1000 / rate) {
    const wait = due - performance.now();
    if (wait > 0) await delay(wait);
    const sent = send(due).finally(() => under.delete(sent));
    under.add(sent);
  }
  await Promise.all(under);
  return { rate, answers: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
