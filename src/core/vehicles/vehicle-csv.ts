import { csvColumn, csvRows } from '../sql/csv-row.ts';
import { ELIGIBLE_BY_STATUS } from './vehicles.ts';

const { codes, text, time, reason } = csvColumn;
const eligible = Object.entries(ELIGIBLE_BY_STATUS).map(([status, word]) => `when '${status}' then '${word}'`);

/** A vehicle `v`. Programs know its cells by their names, which never change. */
export const vehicleCsv = csvRows({
  'vin,fleet_id': codes('v.vin', 'v.fleet_id::text'),
  // Without the condition on its deletion, PostgreSQL reads all names of the company from an index, for each vehicle.
  fleet_name: text(
    '(select f.name from fleet f where f.company = v.company and f.id = v.fleet_id and f.deletion is null)',
  ),
  'manufacturer,status,eligible': codes('v.manufacturer', 'v.status', `case v.status ${eligible.join(' ')} end`),
  'reason_code,reason,actor': reason('v.reason'),
  verified_at: time('v.verified_at'),
  created_at: time('v.created_at'),
});
