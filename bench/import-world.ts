import pg from 'pg';
import { sendFile } from './support/send-file.ts';
import { openWorld } from './support/world.ts';

export const COMPANY = 'acme';

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
    data: world.server.data,
    headers,
    headersOf: world.headers,
    pid,
    /** Sends the file (a path, or its pieces as they are made) and gives how many vehicles are new. */
    upload: (file: string | Iterable<string>) => sendFile(url, headers(), fleet.id, file),
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
