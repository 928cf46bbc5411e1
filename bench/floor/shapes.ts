import { COMPANY } from '../seed.ts';
import { code, json, type Members, number, orNull, text, time, type Value } from './styles.ts';

/** Manufacturers by slug, as constants. */
export const makers = {
  audi: 'Audi',
  bmw: 'BMW',
  'mercedes-benz': 'Mercedes-Benz',
  porsche: 'Porsche',
  volkswagen: 'Volkswagen',
};
export const maker = (value: (slug: string, name: string) => string, slug = 'v.manufacturer'): Value =>
  orNull(
    json(
      `(case ${slug} ${Object.entries(makers)
        .map(([own, name]) => `when '${own}' then '${value(own, name)}'`)
        .join(' ')} end)`,
    ),
  );
export const makerName = maker((_slug, name) => `{"name":"${name}"}`);
export const makerIdAndName = maker((slug, name) => `{"id":"${slug}","name":"${name}"}`);

/** The number of vehicles of fleet `f`. */
export const counted =
  '(select coalesce(sum(delta), 0) from vehicle_tally t where t.company = f.company and t.fleet_id = f.id)';
export const fleet: Members = {
  id: code('f.id'),
  company: text('f.company'),
  name: text('f.name'),
  companyAddress: text('f.company_address'),
  email: text('f.email'),
  vat: text('f.vat'),
  vehicleCount: number(counted),
  createdAt: time('f.created_at'),
  updatedAt: time('f.updated_at'),
};
export const eligible = orNull(number(`case v.status when 'ELIGIBLE' then true when 'INELIGIBLE' then false end`));
export const vehicle: Members = {
  id: code('v.id'),
  fleetId: code('v.fleet_id'),
  vin: code('v.vin'),
  manufacturer: orNull(code('v.manufacturer')),
  eligibility: { status: code('v.status'), eligible, verifiedAt: orNull(time('v.verified_at')) },
  warnings: json('to_json(v.warnings)'),
  createdAt: time('v.created_at'),
};
export const eligibility: Members = {
  status: code('v.status'),
  eligible,
  dataDelivery: json('to_json(v.data_delivery)'),
  connectivityStatus: orNull(code('v.connectivity_status')),
  primaryUserAssigned: orNull(json('to_json(v.primary_user_assigned)')),
  reason: orNull(json('v.reason')),
  attempts: number('v.attempts'),
  verifiedAt: orNull(time('v.verified_at')),
  nextAttemptAt: orNull(time('case when v.claimed_by is null then v.due_at end')),
};
export const contract: Members = {
  id: code('c.id'),
  name: text('c.name'),
  description: text('c.description'),
  pack: text('c.pack'),
  from: time('c.starts_at'),
  to: time('c.ends_at'),
  status: code(`case when now() < c.starts_at then 'SCHEDULED' when now() < c.ends_at then 'ACTIVE' else 'ENDED' end`),
};
export const wholeContract: Members = {
  ...contract,
  company: text('c.company'),
  fleetId: code('c.fleet_id'),
  vin: code('v.vin'),
  manufacturer: orNull(code('v.manufacturer')),
  activation: {
    state: code(`case when now() < c.starts_at then 'SCHEDULED' else c.activation end`),
    reason: orNull(json('c.activation_reason')),
    changedAt: time('coalesce(c.activation_changed_at, c.created_at)'),
    nextAttemptAt: json(`'null'`),
  },
  createdAt: time('c.created_at'),
};
export const reasonMessage = orNull(json(`'{"message":' || (v.reason -> 'message')::text || '}'`));

/** Vehicle counts of fleet `f` by status. */
export const statuses = ['eligible', 'ineligible', 'pending', 'unsupported', 'failed'];
export const tallies = `lateral (select coalesce(sum(delta), 0) as total, ${statuses
  .map((status) => `coalesce(sum(delta) filter (where status = '${status.toUpperCase()}'), 0) as ${status}`)
  .join(', ')} from vehicle_tally t where t.company = '${COMPANY}' and t.fleet_id = f.id) t`;
export const summary = (...names: string[]): Members =>
  Object.fromEntries(names.map((name) => [name, number(`t.${name}`)]));

export const fleetsOf = (limit: number, with_ = '') =>
  `fleet f ${with_ && `, ${with_}`} where f.company = '${COMPANY}' order by f.id limit ${limit}`;
export const total = (table: string) => number(`(select count(*) from ${table} where company = '${COMPANY}')`);
