import { ABOVE, ABOVE_EVENTS, type DocumentName } from '../documents.ts';
import { COMPANY } from '../seed.ts';
import {
  contract,
  counted,
  eligibility,
  eligible,
  fleet,
  fleetsOf,
  maker,
  makerIdAndName,
  makerName,
  reasonMessage,
  statuses,
  summary,
  tallies,
  total,
} from './shapes.ts';
import { code, json, type Members, number, orNull, type Style, text, time } from './styles.ts';

/** Statements by document or route; $1 is the requested id or VIN. `isUnfilled`: of documents with higher limits. */
export function reads({ object, list }: Style, isUnfilled = false) {
  const most = (limit: number) => (isUnfilled ? ABOVE : limit);
  const vehiclesOf = (members: Members, limit: number, where = '') => ({
    nodes: json(
      list(
        members,
        `vehicle v where v.company = '${COMPANY}' and v.fleet_id = f.id ${where} order by v.id limit ${most(limit)}`,
      ),
    ),
  });
  const contractsOf = (limit: number) => ({
    nodes: json(
      list(
        contract,
        `contract c where c.company = '${COMPANY}' and c.vehicle_id = v.id order by c.id limit ${most(limit)}`,
      ),
    ),
  });
  const log = `event e where e.company = '${COMPANY}' and e.position is not null`;
  /** By the index of its fleets, which has the order. */
  const ofThisFleet = `${log} and e.fleet_id = f.id`;
  /** Without `offset 0`, a plan may scan the whole log backwards to find 50 rows. */
  const ofThisVehicle = `(select * from ${log} and e.vehicle_ids @> array[v.id] offset 0) e`;
  const last50 = (about: string) => ({
    nodes: json(
      list(
        {
          id: code('e.id'),
          type: code(`upper(replace(e.type, '.', '_') collate "C")`),
          timestamp: time('e.at'),
          actor: text('e.actor'),
          vehicles: json(
            list({ vehicleId: code('u.id'), vin: code('u.vin') }, 'unnest(e.vehicle_ids, e.vins) u(id, vin)'),
          ),
          data: {
            fromStatus: code(`(e.data->>'from')`),
            toStatus: code(`(e.data->>'to')`),
            manufacturer: orNull(code(`(e.data->>'manufacturer')`)),
          },
        },
        `(select * from ${about} order by e.position desc limit ${isUnfilled ? ABOVE_EVENTS : 50}) e order by e.position`,
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
          fleetsOf(most(50), tallies),
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
          fleetsOf(most(50), tallies),
        ),
      ),
    }),
    'the home page’s': data('fleets', {
      totalCount: total('fleet'),
      nodes: json(list({ id: code('f.id'), name: text('f.name'), vehicleCount: number(counted) }, fleetsOf(most(50)))),
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
    'vehicles with a status that none has': data('vehicles', {
      nodes: json(
        list(
          { id: code('v.id'), vin: code('v.vin') },
          // Without `offset 0`, a plan goes through all vehicles in the order of their ids.
          `(select * from (select * from vehicle v where v.company = '${COMPANY}' and v.status = 'UNSUPPORTED' offset 0) v
             order by v.id limit ${most(50)}) v`,
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
          `(select * from contract c where c.company = '${COMPANY}' order by c.id limit ${most(100)}) c
           join fleet f on f.company = '${COMPANY}' and f.id = c.fleet_id
           join vehicle v on v.company = '${COMPANY}' and v.id = c.vehicle_id order by c.id`,
        ),
      ),
    }),
    'last 50 events of a fleet': ofFleet({ name: text('f.name'), timeline: last50(ofThisFleet) }),
    'an import': data(
      'import',
      {
        id: code('i.id'),
        state: code('i.state'),
        received: number('i.received'),
        created: number('i.created'),
        existing: number('i.existing'),
        rejectedCount: number('i.rejected'),
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
              totalCount: number(
                `(select count(*) from delivery d where d.company = '${COMPANY}' and d.webhook_id = w.id and d.state = 'FAILED')`,
              ),
              nodes: json(
                list(
                  {
                    id: code('d.id'),
                    eventId: code('d.event_id'),
                    type: code(`upper(replace(e.type, '.', '_') collate "C")`),
                    attempts: number('d.attempts'),
                    status: orNull(number('d.status')),
                    answer: orNull(text('d.answer')),
                    error: orNull(text('d.error')),
                    attemptedAt: orNull(time('d.attempted_at')),
                  },
                  `delivery d join event e on e.id = d.event_id
                   where d.company = '${COMPANY}' and d.webhook_id = w.id and d.state = 'FAILED' order by d.id limit ${most(20)}`,
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
          totalCount: number(
            `(select count(*) from contract c where c.company = '${COMPANY}' and c.vehicle_id = v.id)`,
          ),
          ...contractsOf(50),
        },
        timeline: {
          totalCount: number(
            '(select count(*) from event e where e.vehicle_ids @> array[v.id] and e.position is not null)',
          ),
          ...last50(ofThisVehicle),
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
    rejected: `select E'vin,error_code,error_message\n' || string_agg(r.value || ',' || r.code || ',' ||
        case when r.message ~ '[",\r\n]' then '"' || replace(r.message, '"', '""') || '"' else r.message end, E'\n' order by r.row)
        || E'\n' as json
      from import i join import_rejection r on r.import_id = i.id where i.company = '${COMPANY}' and i.id = $1`,
    oneFleet: ofFleet({ id: code('f.id'), name: text('f.name'), vehicles: vehiclesOf(small, 100) }),
    twentyFleets: data('fleets', {
      nodes: json(list({ id: code('f.id'), name: text('f.name'), vehicles: vehiclesOf(small, 20) }, fleetsOf(20))),
    }),
  };
}
