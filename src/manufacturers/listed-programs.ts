import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Ask, chunksOf, readOk } from './activation.ts';
import { NO_PERMISSION, problem } from './mercedes-problem.ts';
import { isOfItems, vehicleServices } from './mercedes-services.ts';
import { type ListedProgram, ProviderError } from './provider.ts';

// What is on in the account at a provider, whoever wants it: page by page, since a list may have a million.

/** The elements of the list at an address, as they come. Throws ProviderError. */
type ReadList = (url: string) => AsyncIterable<unknown>;

const AT_ONCE = 1000;

async function* pagesOf<T>(elements: AsyncIterable<unknown>, schema: z.ZodType<T>): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const element of elements) {
    const { data } = schema.safeParse(element);
    if (data === undefined) throw new ProviderError('BAD_ANSWER');
    if (page.push(data) < AT_ONCE) continue;
    yield page;
    page = [];
  }
  yield page;
}

const clearance = z.object({ vin: z.string(), brand: z.string(), status: z.string() });
/** Statuses of clearances that cost money, or are about to. */
const CLEARED = ['approved', 'pending'];

/** By `Get all clearances` of High Mobility's Fleet Clearance API. */
export async function* listClearances(read: ReadList, url: string): AsyncGenerator<ListedProgram[]> {
  const filter = encodeURIComponent(JSON.stringify({ status: { operator: 'in', value: CLEARED } }));
  for await (const page of pagesOf(read(`${url}/v1/fleets/vehicles?filter=${filter}`), clearance))
    yield page.flatMap((one) => (CLEARED.includes(one.status) ? { ...one, program: '' } : []));
}

const vehicle = z.object({ vin: z.string() });
/** Statuses of services that cost money, or are about to. */
const SERVED = ['ACTIVE', 'ACTIVATION_PENDING'];
const LOOKED_AT_ONCE = 4;
const ATTEMPTS = 3;
const LONGEST_WAIT_SECONDS = 60;

/** By `queryVehicles` of Mercedes-Benz, whose list has no services: each vehicle of the account is asked about by itself. */
export async function* listServices(ask: Ask, read: ReadList, url: string): AsyncGenerator<ListedProgram[]> {
  // The whole list first, which would not wait for the answers about its vehicles.
  const pages: string[] = [];
  for await (const page of pagesOf(read(`${url}/v1/accounts/vehicles`), vehicle))
    pages.push(page.map(({ vin }) => vin).join(' '));
  for (const page of pages)
    for (const vins of chunksOf(page.split(' ').filter(Boolean), LOOKED_AT_ONCE))
      yield (await Promise.all(vins.map((vin) => servicesOf(ask, url, vin)))).flat();
}

async function servicesOf(ask: Ask, url: string, vin: string, attempt = 1): Promise<ListedProgram[]> {
  const answer = await ask({ method: 'GET', url: `${url}/v2/accounts/vehicles/${vin}/services` });
  if (answer.outcome === 'NO_ANSWER') {
    const { reason, retryAfter = 1 } = answer;
    if (attempt === ATTEMPTS) throw new Error(reason?.message ?? 'The manufacturer’s service did not answer.');
    await sleep(Math.min(retryAfter, LONGEST_WAIT_SECONDS) * 1000);
    return servicesOf(ask, url, vin, attempt + 1);
  }
  // It has left the account since, or nothing can be ordered for it.
  const isBarred = problem.parse(answer.body).type === NO_PERMISSION;
  if (isOfItems(answer) && !isBarred) return [];
  const read = readOk(vehicleServices, answer);
  if (read?.vin !== vin)
    throw new ProviderError(isBarred || answer.status === 403 ? 'CREDENTIALS' : 'UNEXPECTED', { raw: answer });
  return read.services.flatMap(({ serviceId: program, status }) =>
    SERVED.includes(status) ? { vin, brand: 'mercedes-benz', program, status } : [],
  );
}
