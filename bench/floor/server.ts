/**
 * The floor: the fastest server we could write by hand for the same requests and responses as the benchmark's. One
 * node:http process sends one prepared statement per request, in pipelines, with generic plans; it has no tokens, no
 * checks, one tenant to read and one to write. `FLOOR=usual` is what a careful team writes: pg's pool, and JSON by
 * PostgreSQL's own functions. The figures below are of 21 November 2026.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { v7 } from 'uuid';
import { documents, oneFleet, twentyFleets, typename, unfilled } from '../documents.ts';
import { WRITER } from '../seed.ts';
import { sql } from '../support/world.ts';
import { openPool, Pipelines } from './pipelines.ts';
import { reads } from './reads.ts';
import { fleetJson, fleets, PAGE, type Row, vehicleJson, vehiclesAfter } from './rows.ts';
import { pieces, rows as rowsAsJson } from './styles.ts';
import { writes } from './writes.ts';

const url = process.env.DATABASE_URL ?? '';
// Tried 1, 2, 3, 5, 10 for reads and 3, 6, 10, 16 for writes. CPU per request is the same from 2 on; 10 gave the most
// reads and about as many writes as any other, on a machine so busy that equal runs differed by 30 %.
const CONNECTIONS = 10;
const isUsual = process.env.FLOOR === 'usual';
const open = () => (isUsual ? openPool(url, CONNECTIONS) : Pipelines.open(url, CONNECTIONS));
const forReads = await open();
const forWrites = await open();
await sql(url, 'create table if not exists floor_event (like event including all)');

// CPU in µs for 100 vehicles, 20 fleets × 20 and README's document (candidates.ts, 2026-11-22): json_build_object 680,
// 2,721, 2,007; json_agg of rows 547, 1,739, 1,675; format 341, 966, 1,177; `pieces` 276, 677, 985. Times by casts cost
// the same within the noise (50 fleets 699 and 670); in PostgreSQL's own format, a wrong one, they cost 569.
const style = isUsual ? rowsAsJson('to_char') : pieces('to_char');
const read = reads(style);
const readUnfilled = reads(style, true);
const write = writes(style);

type Fields = Record<string, string>;

const get = (statement: string, ...values: string[]) => forReads.json(statement, values);
/** Runs a write, with a new event id and the time as its first values. */
const make = (statement: string, at: string, ...values: unknown[]) => forWrites.json(statement, [v7(), at, ...values]);
const now = () => new Date().toISOString();

async function createFleet({ name, companyAddress, email, vat }: Fields): Promise<string> {
  const [id, at, fields] = [v7(), now(), { name, companyAddress, email, vat }];
  await make(write.createFleet, at, id, name, companyAddress, email, vat, JSON.stringify(fields));
  return JSON.stringify({ id, company: WRITER, ...fields, vehicleCount: 0, createdAt: at, updatedAt: at });
}

const makers: Fields = { WBA: 'bmw', WP0: 'porsche' };

async function addVehicles(fleetId: string, vins: string[]): Promise<string> {
  const own = vins.map((vin) => makers[vin.slice(0, 3)]);
  const made = await make(
    write.addVehicles,
    now(),
    fleetId,
    vins.map(() => v7()),
    vins,
    own,
  );
  const summary = `{"received":${vins.length},"created":${vins.length},"existing":0,"rejected":0}`;
  return `{"summary":${summary},"vehicles":${made},"rejected":[]}`;
}

const createContract = ({ fleetId, vin, name, description, pack, from, to }: Fields) =>
  make(write.createContract, now(), v7(), fleetId, vin, name, description, pack, from, to);

/** Documents by their text; each has at most one variable. */
const known = new Map<string, (variables: Fields) => Promise<string> | string>([
  ...Object.entries({ ...documents, oneFleet: oneFleet(), twentyFleets: twentyFleets() }).flatMap(([key, text]) => {
    const name = key as keyof typeof documents;
    return [[unfilled(text), readUnfilled] as const, [text, read] as const].map(
      ([own, of]) => [own, (variables: Fields) => get(of[name], ...Object.values(variables))] as const,
    );
  }),
  [typename(), () => '{"data":{"__typename":"Query"}}'],
]);

async function graphql({ query, variables = {} }: { query: string; variables?: Fields & { input?: Fields } }) {
  const answer = known.get(query)?.(variables);
  if (answer !== undefined) return answer;
  if (variables.input) return `{"data":{"createFleet":{"fleet":${await createFleet(variables.input)}}}}`;
  // An unknown document differs from a known one by an alias only.
  const [, alias, field = ''] = /(\w+): (vin|__typename)/.exec(query) ?? [];
  const usual = await known.get(query.replace(`${alias}: `, ''))?.(variables);
  return usual?.replaceAll(`"${field}":`, `"${alias}":`) ?? '';
}

const FIRST = '00000000-0000-0000-0000-000000000000';

/** Streams a whole list; the next page is read while the last one is sent. */
async function sendVehicles(res: ServerResponse, fleetId: string): Promise<void> {
  const after = (id: string) => forReads.rows(vehiclesAfter, [fleetId, id]);
  const textOf = (rows: Row[]) => rows.map(vehicleJson).join(',');
  let rows = await after(FIRST);
  if (rows.length < PAGE) return send(res, 200, `[${textOf(rows)}]`);
  res.writeHead(200, { 'Content-Type': 'application/json' });
  for (let opening = '['; rows.length > 0; opening = ',') {
    const next = rows.length === PAGE ? after(rows.at(-1)?.[0] ?? '') : [];
    if (!res.write(opening + textOf(rows))) await once(res, 'drain');
    rows = await next;
  }
  res.end(']');
}

const sendFleets = async (res: ServerResponse) =>
  send(res, 200, `[${(await forReads.rows(fleets, [])).map(fleetJson).join(',')}]`);

async function answer(req: IncomingMessage, res: ServerResponse, body: string): Promise<void> {
  const [, room, id = '', vin = ''] = (req.url ?? '').split('?')[0]?.split('/') ?? [];
  switch (`${req.method} ${room}`) {
    case 'GET fleets':
      return id ? sendVehicles(res, id) : sendFleets(res);
    case 'GET vehicles':
      return send(res, 200, await get(read.eligibility, vin));
    case 'GET imports':
      return send(res, 200, await get(read.rejected, id), 'text/csv');
    case 'POST graphql':
      return send(res, 200, await graphql(JSON.parse(body)));
    case 'POST fleets':
      return send(res, 201, await createFleet(JSON.parse(body)));
    case 'PATCH fleets':
      return send(res, 200, await make(write.updateFleet, now(), id, JSON.parse(body).vat));
    case 'DELETE fleets':
      return send(res, 200, await make(write.deleteFleet, now(), id));
    case 'POST vehicles': {
      const { fleetId, vins } = JSON.parse(body);
      return send(res, 201, await addVehicles(fleetId, vins));
    }
    case 'DELETE vehicles':
      return send(res, 200, await make(write.deleteVehicle, now(), id));
    case 'POST contracts':
      return send(res, 201, await createContract(JSON.parse(body)));
  }
}

function send(res: ServerResponse, status: number, text: string, type = 'application/json'): void {
  res.writeHead(status, ['Content-Type', type, 'Content-Length', String(Buffer.byteLength(text))]);
  res.end(text);
}

function fail(res: ServerResponse, error: unknown): void {
  console.error(error);
  res.writeHead(500).end();
}

const server = createServer((req, res) => {
  if (req.method === 'GET') return void answer(req, res, '').catch((error) => fail(res, error));
  let body = '';
  req
    .setEncoding('utf8')
    .on('data', (chunk) => {
      body += chunk;
    })
    .on('end', () => void answer(req, res, body).catch((error) => fail(res, error)));
});
server.listen(Number(process.env.PORT), '127.0.0.1', () =>
  console.log(`ready on http://127.0.0.1:${process.env.PORT}`),
);
