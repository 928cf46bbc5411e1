import type { DocumentName } from '../documents.ts';
import { COMPANY, WRITER } from '../seed.ts';
import { code, json, type Members, number, orNull, type Style, text, time, times, type Value } from './styles.ts';

/** Makers as a hand-written server would know them. */
const makers = {
  audi: 'Audi',
  bmw: 'BMW',
  'mercedes-benz': 'Mercedes-Benz',
  porsche: 'Porsche',
  volkswagen: 'Volkswagen',
};
const maker = (value: (slug: string, name: string) => string, slug = 'v.manufacturer'): Value =>
  orNull(
    json(
      `(case ${slug} ${Object.entries(makers)
        .map(([own, name]) => `when '${own}' then '${value(own, name)}'`)
        .join(' ')} end)::json`,
    ),
  );
const makerName = maker((_slug, name) => `{"name":"${name}"}`);
const makerIdAndName = maker((slug, name) => `{"id":"${slug}","name":"${name}"}`);

const counted = (fleet: string) => `(select coalesce(sum(delta), 0) from vehicle_tally t where t.fleet_id = ${fleet})`;
const fleet: Members = {
  id: code('f.id'),
  company: text('f.company'),
  name: text('f.name'),
  companyAddress: text('f.company_address'),
  email: text('f.email'),
  vat: text('f.vat'),
  vehicleCount: number(counted('f.id')),
  createdAt: time('f.created_at'),
  updatedAt: time('f.updated_at'),
};
const eligible = json(`case v.status when 'ELIGIBLE' then 'true' when 'INELIGIBLE' then 'false' else 'null' end::json`);
const vehicle: Members = {
  id: code('v.id'),
  fleetId: code('v.fleet_id'),
  vin: code('v.vin'),
  manufacturer: orNull(code('v.manufacturer')),
  eligibility: { status: code('v.status'), eligible, verifiedAt: orNull(time('v.verified_at')) },
  warnings: json('to_json(v.warnings)'),
  createdAt: time('v.created_at'),
};
const eligibility: Members = {
  status: code('v.status'),
  eligible,
  dataDelivery: json('to_json(v.data_delivery)'),
  connectivityStatus: orNull(code('v.connectivity_status')),
  primaryUserAssigned: orNull(json('to_json(v.primary_user_assigned)')),
  reason: orNull(json('v.reason')),
  attempts: number('v.attempts'),
  verifiedAt: orNull(time('v.verified_at')),
  nextAttemptAt: orNull(time('case when not v.claimed then v.due_at end')),
};
const contract: Members = {
  id: code('c.id'),
  name: text('c.name'),
  description: text('c.description'),
  pack: text('c.pack'),
  from: time('c.starts_at'),
  to: time('c.ends_at'),
  status: code(`case when now() < c.starts_at then 'SCHEDULED' when now() < c.ends_at then 'ACTIVE' else 'ENDED' end`),
};
const wholeContract: Members = {
  ...contract,
  company: text('c.company'),
  fleetId: code('c.fleet_id'),
  vin: code('v.vin'),
  manufacturer: orNull(code('v.manufacturer')),
  createdAt: time('c.created_at'),
};
const reasonMessage = orNull(
  json(`case when v.reason is not null then json_build_object('message', v.reason -> 'message') end`),
);

/** Numbers of vehicles by status, of fleet `f`. */
const statuses = ['eligible', 'ineligible', 'pending', 'unsupported', 'failed'];
const tallies = `lateral (select coalesce(sum(delta), 0) as total, ${statuses
  .map((status) => `coalesce(sum(delta) filter (where status = '${status.toUpperCase()}'), 0) as ${status}`)
  .join(', ')} from vehicle_tally t where t.fleet_id = f.id) t`;
const summary = (...names: string[]): Members => Object.fromEntries(names.map((name) => [name, number(`t.${name}`)]));

const fleetsOf = (limit: number, with_ = '') =>
  `fleet f ${with_ && `, ${with_}`} where f.company = '${COMPANY}' order by f.id limit ${limit}`;
const total = (table: string) => number(`(select count(*) from ${table} where company = '${COMPANY}')`);

/** What is read, by what asks for it: $1 is the id or VIN that is asked for. */
export function reads({ object, list }: Style) {
  const vehiclesOf = (members: Members, limit: number, where = '') => ({
    nodes: json(list(members, `vehicle v where v.fleet_id = f.id ${where} order by v.id limit ${limit}`)),
  });
  const contractsOf = (limit: number) => ({
    nodes: json(list(contract, `contract c where c.vehicle_id = v.id order by c.id limit ${limit}`)),
  });
  const last50 = (about: string) => ({
    nodes: json(
      list(
        {
          id: code('e.id'),
          type: code('e.type'),
          timestamp: time('e.at'),
          actor: text('e.actor'),
          vehicles: json(list({ id: code('u.id'), vin: code('u.vin') }, 'unnest(e.vehicle_ids, e.vins) u(id, vin)')),
          data: json('e.data'),
        },
        // Without the fence the log might be walked backwards until 50 of few are found.
        `(select * from (select * from event e where ${about} and e.position is not null offset 0) e
          order by e.position desc limit 50) e order by e.position`,
      ),
    ),
  });
  const data = (name: string, value: Members, from = '') =>
    `select ${object({ data: { [name]: value } })}::text as json ${from}`;
  const ofFleet = (members: Members) =>
    data('fleet', members, `from fleet f where f.company = '${COMPANY}' and f.id = $1`);
  const small = { id: code('v.id'), vin: code('v.vin'), eligibility: { status: code('v.status'), eligible } };
  const asked: Record<DocumentName, string> = {
    'README’s': data('fleets', {
      totalCount: total('fleet'),
      nodes: json(
        list(
          {
            name: text('f.name'),
            eligibilitySummary: summary('eligible', 'pending'),
            vehicles: vehiclesOf(
              {
                vin: code('v.vin'),
                manufacturer: makerName,
                eligibility: { status: code('v.status'), reason: reasonMessage },
              },
              3,
            ),
          },
          fleetsOf(50, tallies),
        ),
      ),
    }),
    'GraphiQL’s first tab': data('fleets', {
      totalCount: total('fleet'),
      nodes: json(
        list(
          {
            id: code('f.id'),
            name: text('f.name'),
            eligibilitySummary: summary('eligible', 'pending'),
            vehicles: {
              totalCount: number('t.total'),
              ...vehiclesOf(
                {
                  vin: code('v.vin'),
                  manufacturer: makerName,
                  eligibility: { status: code('v.status'), reason: reasonMessage },
                },
                5,
              ),
            },
          },
          fleetsOf(10, tallies),
        ),
      ),
    }),
    'the demo’s': data('fleets', {
      nodes: json(
        list(
          {
            name: text('f.name'),
            vehicleCount: number('t.total'),
            eligibilitySummary: summary('eligible', 'ineligible', 'pending', 'unsupported'),
          },
          fleetsOf(50, tallies),
        ),
      ),
    }),
    'the home page’s': data('fleets', {
      totalCount: total('fleet'),
      nodes: json(
        list({ id: code('f.id'), name: text('f.name'), vehicleCount: number(counted('f.id')) }, fleetsOf(50)),
      ),
    }),
    '20 fleets with summaries and counts': data('fleets', {
      totalCount: total('fleet'),
      nodes: json(
        list(
          {
            id: code('f.id'),
            name: text('f.name'),
            eligibilitySummary: summary(...statuses),
            vehicles: { totalCount: number('t.total') },
          },
          fleetsOf(20, tallies),
        ),
      ),
    }),
    'a fleet’s failed vehicles': ofFleet({
      name: text('f.name'),
      vehicles: vehiclesOf(
        {
          id: code('v.id'),
          vin: code('v.vin'),
          manufacturer: makerIdAndName,
          eligibility: { status: code('v.status'), reason: orNull(json('v.reason')) },
        },
        100,
        `and v.status = 'FAILED'`,
      ),
    }),
    '100 vehicles with their contracts': ofFleet({
      name: text('f.name'),
      vehicles: vehiclesOf({ id: code('v.id'), vin: code('v.vin'), contracts: contractsOf(5) }, 100),
    }),
    '100 contracts with fleet and vehicle': data('contracts', {
      totalCount: total('contract'),
      nodes: json(
        list(
          {
            ...contract,
            fleet: { id: code('f.id'), name: text('f.name') },
            vehicle: { id: code('v.id'), vin: code('v.vin'), eligibility: { status: code('v.status') } },
          },
          `(select * from contract c where c.company = '${COMPANY}' order by c.id limit 100) c
           join fleet f on f.id = c.fleet_id join vehicle v on v.id = c.vehicle_id order by c.id`,
        ),
      ),
    }),
    'last 50 events of a fleet': ofFleet({ name: text('f.name'), timeline: last50('e.fleet_id = f.id') }),
    'an import': data(
      'import',
      {
        id: code('i.id'),
        state: code('i.state'),
        received: number('i.received'),
        created: number('i.created'),
        existing: number('i.existing'),
        rejected: number('i.rejected'),
        startedAt: time('i.started_at'),
        finishedAt: orNull(time('i.finished_at')),
        fleet: { id: code('f.id'), name: text('f.name') },
      },
      `from import i join fleet f on f.id = i.fleet_id where i.company = '${COMPANY}' and i.id = $1`,
    ),
    'webhooks with failed deliveries': data('webhooks', {
      nodes: json(
        list(
          {
            id: code('w.id'),
            url: text('w.url'),
            state: code('w.state'),
            deliveries: {
              totalCount: number(`(select count(*) from delivery d where d.webhook_id = w.id and d.state = 'FAILED')`),
              nodes: json(
                list(
                  {
                    id: code('d.id'),
                    eventId: code('d.event_id'),
                    type: code('e.type'),
                    attempts: number('d.attempts'),
                    status: orNull(number('d.status')),
                    answer: orNull(text('d.answer')),
                    error: orNull(text('d.error')),
                    attemptedAt: orNull(time('d.attempted_at')),
                  },
                  `delivery d join event e on e.id = d.event_id where d.webhook_id = w.id and d.state = 'FAILED' order by d.id limit 20`,
                ),
              ),
            },
          },
          `webhook w where w.company = '${COMPANY}' order by w.id limit 50`,
        ),
      ),
    }),
    'everything of a vehicle': data(
      'vehicle',
      {
        id: code('v.id'),
        vin: code('v.vin'),
        warnings: json('to_json(v.warnings)'),
        createdAt: time('v.created_at'),
        fleet: { id: code('f.id'), name: text('f.name') },
        manufacturer: maker(
          (slug, name) => `{"id":"${slug}","name":"${name}","provider":"high-mobility","supported":true}`,
        ),
        eligibility,
        contracts: {
          totalCount: number('(select count(*) from contract c where c.vehicle_id = v.id)'),
          ...contractsOf(50),
        },
        timeline: {
          totalCount: number(
            '(select count(*) from event e where e.vehicle_ids @> array[v.id] and e.position is not null)',
          ),
          ...last50('e.vehicle_ids @> array[v.id]'),
        },
      },
      `from vehicle v join fleet f on f.id = v.fleet_id where v.company = '${COMPANY}' and v.vin = $1`,
    ),
  };
  return {
    ...asked,
    fleets: `select ${list(fleet, `fleet f where f.company = '${COMPANY}' order by f.id`)}::text as json`,
    eligibility: `select ${object({ vin: code('v.vin'), manufacturer: orNull(code('v.manufacturer')), ...eligibility })}::text as json
      from vehicle v where v.company = '${COMPANY}' and v.vin = $1`,
    rejected: `select E'vin,error_code,error_message\n' || string_agg(format(E'%s,%s,%s\n', r.value, r.code,
        case when r.message ~ '[",\r\n]' then '"' || replace(r.message, '"', '""') || '"' else r.message end), '' order by r.row) as json
      from import i join import_rejection r on r.import_id = i.id where i.company = '${COMPANY}' and i.id = $1`,
    oneFleet: ofFleet({ id: code('f.id'), name: text('f.name'), vehicles: vehiclesOf(small, 100) }),
    twentyFleets: data('fleets', {
      nodes: json(list({ id: code('f.id'), name: text('f.name'), vehicles: vehiclesOf(small, 20) }, fleetsOf(20))),
    }),
  };
}

/** A fact beside what made it one, in a table like the gateway's but without its notifications ($1: its id, $2: when). */
const fact = (type: string, select: string) =>
  `insert into floor_event (id, at, type, company, actor, request_id, fleet_id, contract_id, vehicle_ids, vins, data)
   select $1::uuid, $2::timestamptz, '${type}', '${WRITER}', 'user-1', $1::text, ${select}`;
/** The same where there may be several. */
const facts = (type: string, select: string) => fact(type, select).replace('$1::uuid', 'gen_random_uuid()');
const contractData = `jsonb_build_object('name', c.name, 'pack', c.pack, 'from', ${times.to_char?.('c.starts_at')}, 'to', ${times.to_char?.('c.ends_at')})`;
const contractsGone = (where: string) =>
  facts(
    'contract.deleted',
    `c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData} from contract c join vehicle v on v.id = c.vehicle_id where ${where}`,
  );

/** What is written: each is a transaction of its own, with its event ($1: the event's id, $2: when). */
export const writes = ({ object, list }: Style) => ({
  createFleet: `with made as (
      insert into fleet values ($3, '${WRITER}', $4, $5, $6, $7, $2::timestamptz, $2::timestamptz)
    ) ${fact('fleet.created', `$3, null, '{}', '{}', $8::jsonb`)}`,
  updateFleet: `with old as (
      select * from fleet where company = '${WRITER}' and id = $3 for no key update
    ), f as (
      update fleet set vat = $4, updated_at = $2::timestamptz from old where fleet.id = old.id returning fleet.*
    ), told as (${fact(
      'fleet.updated',
      `id, null, '{}', '{}', jsonb_build_object('changes', jsonb_build_object('vat', jsonb_build_object('from', vat, 'to', $4::text)))
       from old where vat <> $4`,
    )})
    select ${object(fleet)}::text as json from f`,
  deleteFleet: `with f as (
      select * from fleet where company = '${WRITER}' and id = $3 for update
    ), contracts as (${contractsGone('c.fleet_id = $3')}), vehicles as (${facts(
      'vehicle.removed',
      `$3::uuid, null, array_agg(id), array_agg(vin), '{}' from vehicle where fleet_id = $3 having count(*) > 0`,
    )}), told as (${fact(
      'fleet.deleted',
      `f.id, null, '{}', '{}', jsonb_build_object('name', f.name, 'vehicleCount', ${counted('f.id')}) from f`,
    )}), gone as (delete from fleet where id in (select id from f))
    select ${object(fleet)}::text as json from f`,
  addVehicles: `with v as (
      insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, due_at)
      select r.id, '${WRITER}', $3, r.vin, r.maker, $2::timestamptz, 'UNSUPPORTED', $2::timestamptz + interval '7 days'
      from unnest($4::uuid[], $5::text[], $6::text[]) r(id, vin, maker) on conflict (company, vin) do nothing returning *
    ), told as (${fact('vehicle.added', `$3, null, array_agg(id), array_agg(vin), '{}' from v`)})
    select ${list(vehicle, 'v')}::text as json`,
  deleteVehicle: `with contracts as (${contractsGone('c.vehicle_id = $3')}), v as (
      delete from vehicle where company = '${WRITER}' and id = $3 returning *
    ), told as (${fact('vehicle.removed', `fleet_id, null, array[id], array[vin], '{}' from v`)})
    select ${object(vehicle)}::text as json from v`,
  createContract: `with v as (
      select * from vehicle where company = '${WRITER}' and vin = $5 and fleet_id = $4
    ), c as (
      insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
      select $3, company, fleet_id, id, $6, $7, $8, $9::timestamptz, $10::timestamptz, $2::timestamptz, $9::timestamptz from v
      returning *
    ), told as (${fact(
      'contract.created',
      `c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData} from c, v`,
    )})
    select ${object(wholeContract)}::text as json from c, v`,
});
