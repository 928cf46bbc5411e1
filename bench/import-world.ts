import pg from 'pg';
import { sendFile } from './support/send-file.ts';
import { openWorld } from './support/world.ts';

export const COMPANY = 'acme';

/** A gateway with one fleet; background work is off unless the settings turn it on. */
export async function openImportWorld({
  fsync = 'on',
  settings = {},
}: {
  fsync?: string;
  settings?: NodeJS.ProcessEnv;
} = {}) {
  const world = await openWorld({ server: { fsync } });
  // Only the import is measured, not the verification of a million vehicles after it.
  const { url, pid } = await world.gateway({ LIMIT_FILE_BYTES: String(2 ** 40), WORKERS: 'off', ...settings });
  const database = new pg.Client(world.admin);
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
    databaseUrl: world.admin,
    data: world.server.data,
    headers,
    headersOf: world.headers,
    pid,
    /** Uploads the file (a path, or chunks as they are generated); returns the number of new vehicles. */
    upload: (file: string | Iterable<string>) => sendFile(url, headers(), fleet.id, file),
    /** Deletes all vehicles, then runs analyze and checkpoint, so that the next run starts clean. */
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
