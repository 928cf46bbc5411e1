import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { openWorld } from './support/world.ts';

export const COMPANY = 'acme';
const BOUNDARY = 'part-of-a-form';

/** A gateway with one fleet; without background work, unless the settings say otherwise. */
export async function openImportWorld({
  fsync = 'on',
  settings = {},
}: {
  fsync?: string;
  settings?: NodeJS.ProcessEnv;
} = {}) {
  const world = await openWorld({ server: { fsync } });
  // The import alone is measured, not the verification of a million vehicles that follows it.
  const { url, pid } = await world.gateway({ LIMIT_FILE_BYTES: String(2 ** 40), WORKERS: 'off', ...settings });
  const database = new pg.Client(world.url);
  await database.connect();
  const headers = () => world.headers(COMPANY);
  const answer = await fetch(`${url}/fleets`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({ name: 'Bench', companyAddress: 'Here 1', email: 'fleet@acme.example', vat: 'DE1' }),
  });
  const fleet = (await answer.json()) as { id: string };
  return {
    url,
    fleet,
    folder: world.folder,
    database,
    databaseUrl: world.url,
    headers,
    headersOf: world.headers,
    pid,
    /** Sends the file (a path, or its pieces as they are made) and gives how many vehicles are new. */
    async upload(file: string | Iterable<string>): Promise<number> {
      const form = request(`${url}/vehicles/file`, {
        method: 'POST',
        headers: { ...headers(), 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      });
      const answered = once(form, 'response');
      const pieces = typeof file === 'string' ? createReadStream(file) : Readable.from(file);
      await pipeline(formOf(fleet.id, pieces), form);
      const [response] = await answered;
      const body = (await json(response)) as { summary?: { created: number } };
      if (!body.summary) throw new Error(JSON.stringify(body));
      return body.summary.created;
    },
    /** No vehicles any more, as the planner knows, and nothing left to be written by the next who comes. */
    async empty(): Promise<void> {
      await database.query('truncate vehicle, vehicle_tally, event, import_rejection, import, import_batch cascade');
      await database.query('analyze vehicle');
      await database.query('checkpoint');
    },
    async [Symbol.asyncDispose]() {
      await database.end();
      await world[Symbol.asyncDispose]();
    },
  };
}

async function* formOf(fleetId: string, file: AsyncIterable<Buffer | string>) {
  const part = (head: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  yield `${part('name="fleetId"')}${fleetId}\r\n`;
  yield part('name="vins"; filename="vins.csv"\r\nContent-Type: text/csv');
  yield* file;
  yield `\r\n--${BOUNDARY}--\r\n`;
}
