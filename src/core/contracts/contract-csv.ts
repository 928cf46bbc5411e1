import { activationNextSql, activationReasonJsonSql, activationStateSql } from '../activation/activation.ts';
import { csvColumn, csvRows } from '../sql/csv-row.ts';
import { statusSql } from './contracts.ts';

const { codes, text, time, reason } = csvColumn;

/** A contract `c` of a vehicle `cv`. Programs know its cells by their names, which never change. */
export const contractCsv = csvRows({
  'id,vin,manufacturer,fleet_id': codes('c.id::text', 'cv.vin', 'cv.manufacturer', 'c.fleet_id::text'),
  fleet_name: text(
    '(select f.name from fleet f where f.company = c.company and f.id = c.fleet_id and f.deletion is null)',
  ),
  name: text('c.name'),
  description: text('c.description'),
  pack: text('c.pack'),
  from: time('c.starts_at'),
  to: time('c.ends_at'),
  'status,activation': codes(statusSql, activationStateSql),
  'reason_code,reason,actor': reason(activationReasonJsonSql),
  next_attempt_at: time(activationNextSql),
  created_at: time('c.created_at'),
});
