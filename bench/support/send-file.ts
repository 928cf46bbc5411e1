import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

const BOUNDARY = 'part-of-a-form';

/** Uploads a file (a path, or chunks as they are generated); returns the number of new vehicles. */
export async function sendFile(
  url: string,
  headers: Record<string, string>,
  fleetId: string,
  file: string | Iterable<string>,
): Promise<number> {
  const form = request(`${url}/vehicles/file`, {
    method: 'POST',
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  const answered = once(form, 'response');
  await pipeline(formOf(fleetId, typeof file === 'string' ? createReadStream(file) : Readable.from(file)), form);
  const [response] = await answered;
  const body = (await json(response)) as { summary?: { created: number } };
  if (!body.summary) throw new Error(JSON.stringify(body));
  return body.summary.created;
}

async function* formOf(fleetId: string, file: AsyncIterable<Buffer | string>) {
  const part = (head: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  yield `${part('name="fleetId"')}${fleetId}\r\n`;
  yield part('name="vins"; filename="vins.csv"\r\nContent-Type: text/csv');
  yield* file;
  yield `\r\n--${BOUNDARY}--\r\n`;
}
