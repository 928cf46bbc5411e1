/**
 * The floor: the least that can answer the bench's requests with the same data. node:http, one pg pool, prepared
 * statements, JSON built by PostgreSQL; no tokens, no checks, no tenants but one. `node bench/floor.ts <database url> <port>`
 */
import { createServer } from 'node:http';
import pg from 'pg';
import { v7 } from 'uuid';
import { COMPANY } from './seed.ts';

const [url, port] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10, options: '-c timezone=UTC' });

const time = (column: string) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const fleet = `json_build_object('id', f.id, 'company', f.company, 'name', f.name, 'companyAddress', f.company_address,
  'email', f.email, 'vat', f.vat, 'vehicleCount', (select coalesce(sum(delta), 0)::int from vehicle_tally t where t.fleet_id = f.id),
  'createdAt', ${time('f.created_at')}, 'updatedAt', ${time('f.updated_at')})`;
const eligible = `case v.status when 'ELIGIBLE' then true when 'INELIGIBLE' then false end`;
const vehicle = `json_build_object('id', v.id, 'fleetId', v.fleet_id, 'vin', v.vin, 'manufacturer', v.manufacturer,
  'eligibility', json_build_object('status', v.status, 'eligible', ${eligible}, 'verifiedAt', ${time('v.verified_at')}),
  'warnings', v.warnings, 'createdAt', ${time('v.created_at')})`;
const small = `json_build_object('id', v.id, 'vin', v.vin, 'eligibility', json_build_object('status', v.status, 'eligible', ${eligible}))`;
const page = (fleetId: string, limit: string) => `json_build_object('nodes', (select coalesce(json_agg(x.v), '[]') from
  (select ${small} v from vehicle v where v.fleet_id = ${fleetId} order by v.id limit ${limit}) x))`;

const statements = {
  fleets: `select coalesce(json_agg(x.f), '[]')::text as json from
    (select ${fleet} f from fleet f where f.company = '${COMPANY}' order by f.id) x`,
  vehicles: `select coalesce(json_agg(x.v), '[]')::text as json from
    (select ${vehicle} v from vehicle v where v.fleet_id = $1 order by v.id) x`,
  eligibility: `select json_build_object('vin', v.vin, 'status', v.status, 'eligible', ${eligible}, 'manufacturer', v.manufacturer,
    'dataDelivery', v.data_delivery, 'connectivityStatus', v.connectivity_status, 'primaryUserAssigned', v.primary_user_assigned,
    'reason', v.reason, 'attempts', v.attempts, 'verifiedAt', ${time('v.verified_at')},
    'nextAttemptAt', ${time('v.due_at')})::text as json from vehicle v where v.company = '${COMPANY}' and v.vin = $1`,
  graphqlFleet: `select json_build_object('data', json_build_object('fleet', json_build_object('id', f.id, 'name', f.name,
    'vehicles', ${page('f.id', '100')})))::text as json from fleet f where f.id = $1`,
  graphqlFleets: `select json_build_object('data', json_build_object('fleets', json_build_object('nodes', json_agg(x.f))))::text as json
    from (select json_build_object('id', f.id, 'name', f.name, 'vehicles', ${page('f.id', '20')}) f
      from fleet f where f.company = '${COMPANY}' order by f.id limit 20) x`,
  create: `insert into fleet as f (id, company, name, company_address, email, vat, created_at, updated_at)
    values ($1, '${COMPANY}-writes', $2, $3, $4, $5, now(), now()) returning ${fleet}::text as json`,
};

const query = async (name: keyof typeof statements, values: unknown[] = []): Promise<string> =>
  (await pool.query({ name, text: statements[name], values })).rows[0].json;

const create = (fields: Record<string, string>) =>
  query('create', [v7(), fields.name, fields.companyAddress, fields.email, fields.vat]);

async function graphql({
  query: text,
  variables,
}: {
  query: string;
  variables?: Record<string, never>;
}): Promise<string> {
  if (text.includes('__typename')) return '{"data":{"__typename":"Query"}}';
  if (text.includes('createFleet')) return `{"data":{"createFleet":{"fleet":${await create(variables?.input ?? {})}}}}`;
  return variables?.id ? query('graphqlFleet', [variables.id]) : query('graphqlFleets');
}

createServer(async (req, res) => {
  const path = req.url ?? '';
  let body = '';
  if (req.method === 'POST') for await (const chunk of req) body += chunk;
  const [, , id] = path.split('/');
  const json =
    path === '/graphql'
      ? await graphql(JSON.parse(body))
      : req.method === 'POST'
        ? await create(JSON.parse(body))
        : path === '/fleets'
          ? await query('fleets')
          : path.startsWith('/vehicles/eligibility/')
            ? await query('eligibility', [path.slice(22)])
            : await query('vehicles', [id]);
  res.writeHead(req.method === 'POST' && path === '/fleets' ? 201 : 200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(json),
  });
  res.end(json);
}).listen(Number(port), '127.0.0.1');
