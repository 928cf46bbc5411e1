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

export interface Answered {
  /** Answers per second. */
  rate: number;
  answers: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

export interface Load {
  url: string;
  /** The one request that is sent again and again, or what makes a new one each time. */
  request: Request | (() => Request);
  connections?: number;
  seconds: number;
  /** Ends after so many requests instead: for what is used up. */
  amount?: number | undefined;
}

/** As many requests as are answered, each connection sending the next when it has an answer. Throws for refusals. */
export async function closedLoop({ url, request, connections = 16, seconds, amount }: Load): Promise<Answered> {
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
 * Requests that come at this rate whether or not those before them are answered, as clients do who know nothing of each
 * other. Times are counted from when a request was due.
 */
export async function openLoop(url: string, rate: number, seconds: number, request: () => Request): Promise<Answered> {
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
