import { WRITER } from '../seed.ts';
import { counted, fleet, vehicle, wholeContract } from './shapes.ts';
import { type Style, times } from './styles.ts';

/** Inserts the event of a change, into a table like the gateway's without notifications ($1: event id, $2: time). */
const fact = (type: string, select: string) =>
  `insert into floor_event (id, at, type, company, actor, request_id, fleet_id, contract_id, vehicle_ids, vins, data)
   select $1::uuid, $2::timestamptz, '${type}', '${WRITER}', 'user-1', $1::text, ${select}`;
/** Inserts one event per row of `select`. */
const facts = (type: string, select: string) => fact(type, select).replace('$1::uuid', 'gen_random_uuid()');
const contractData = `jsonb_build_object('name', c.name, 'pack', c.pack, 'manufacturer', v.manufacturer, 'reason', c.activation_reason, 'from', ${times.to_char?.('c.starts_at')}, 'to', ${times.to_char?.('c.ends_at')})`;
const contractsGone = (where: string) =>
  facts(
    'contract.deleted',
    `c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData} from contract c join vehicle v on v.company = c.company and v.id = c.vehicle_id
     where c.company = '${WRITER}' and ${where}`,
  );

/** Statements of writes; each is a transaction with its event ($1: event id, $2: time). */
export const writes = ({ object, list }: Style) => ({
  createFleet: `with known as (
      insert into company values ('${WRITER}') on conflict do nothing
    ), made as (
      insert into fleet values ($3, '${WRITER}', $4, $5, $6, $7, $2::timestamptz, $2::timestamptz)
    ) ${fact('fleet.created', `$3, null, '{}', '{}', $8::jsonb`)}`,
  updateFleet: `with old as (
      select * from fleet where company = '${WRITER}' and id = $3 for no key update
    ), f as (
      update fleet set vat = $4, updated_at = $2::timestamptz from old
      where fleet.company = '${WRITER}' and fleet.id = old.id returning fleet.*
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
      `$3::uuid, null, array_agg(id), array_agg(vin), '{}' from vehicle where company = '${WRITER}' and fleet_id = $3 having count(*) > 0`,
    )}), told as (${fact(
      'fleet.deleted',
      `f.id, null, '{}', '{}', jsonb_build_object('name', f.name, 'vehicleCount', ${counted}) from f`,
    )}), emptied as (delete from vehicle where company = '${WRITER}' and fleet_id in (select id from f)),
    gone as (delete from fleet where company = '${WRITER}' and id in (select id from f))
    select ${object(fleet)}::text as json from f`,
  addVehicles: `with v as (
      insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, due_at)
      select r.id, '${WRITER}', $3, r.vin, r.maker, $2::timestamptz, 'UNSUPPORTED', $2::timestamptz + interval '7 days'
      from unnest($4::uuid[], $5::text[], $6::text[]) r(id, vin, maker) on conflict (company, vin) do nothing returning *
    ), counted as (
      insert into vehicle_tally (company, fleet_id, status, delta)
      select '${WRITER}', $3, 'UNSUPPORTED', count(*) from v having count(*) > 0
    ), told as (${fact('vehicle.added', `$3, null, array_agg(id), array_agg(vin), '{}' from v`)})
    select ${list(vehicle, 'v')}::text as json`,
  deleteVehicle: `with contracts as (${contractsGone('c.vehicle_id = $3')}), v as (
      delete from vehicle where company = '${WRITER}' and id = $3 returning *
    ), counted as (
      insert into vehicle_tally (company, fleet_id, status, delta) select company, fleet_id, status, -1 from v
    ), told as (${fact('vehicle.removed', `fleet_id, null, array[id], array[vin], '{}' from v`)})
    select ${object(vehicle)}::text as json from v`,
  createContract: `with v as (
      select * from vehicle where company = '${WRITER}' and vin = $5 and fleet_id = $4
    ), c as (
      insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at, activation)
      select $3, company, fleet_id, id, $6, $7, $8, $9::timestamptz, $10::timestamptz, $2::timestamptz, $9::timestamptz, 'PENDING' from v
      returning *
    ), told as (${fact(
      'contract.created',
      `c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData} from c, v`,
    )})
    select ${object(wholeContract)}::text as json from c, v`,
});
