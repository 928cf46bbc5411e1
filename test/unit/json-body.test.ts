import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { expect, test } from 'vitest';
import { jsonReader } from '../../src/http/body.ts';

const read = jsonReader(100);

/** A request with this body, in the form of Node's. */
function requestOf(body: Readable, length: number): Request {
  const headers = { 'content-type': 'application/json', 'content-length': String(length) };
  return Object.assign(body, { headers }) as unknown as Request;
}
const res = { locals: {} } as Response;

test('a body in several pieces, with a byte order mark', async () => {
  const body = Readable.from([Buffer.from('\uFEFF{"na'), Buffer.from('me": "ü"}')]);
  expect(await read(requestOf(body, 17), res)).toEqual({ name: 'ü' });
});

test.each(['before', 'while'])('reading ends if the client disconnects %s reading', async (when) => {
  const body = new Readable({ read() {} });
  if (when === 'before') body.destroy();
  const reading = read(requestOf(body, 10), res);
  body.push('{');
  body.destroy();
  await expect(reading).rejects.toThrow('The body could not be read.');
});
