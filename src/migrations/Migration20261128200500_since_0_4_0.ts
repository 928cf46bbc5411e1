import { Migration } from '@mikro-orm/migrations';

/** Names are compared as people type them, without these letters, and with one blank for several. */
export class Migration20261128200500_since_0_4_0 extends Migration {
  override up(): void {
    this.addSql(folded);
    // The only rows whose stored names differ.
    this.addSql(`update contract set name = name where folded_name ~ '[ßæœþłøıđðħŧ\\t\\n\\r\\f\\v]|  '`);
  }
}

const letters = { ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ł: 'l', ø: 'o', ı: 'i', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't' };
const typed = Object.entries(letters).reduce(
  (text, [letter, others]) => `replace(${text}, '${letter}', '${others}')`,
  `lower(regexp_replace(normalize(name, nfkd), '[\\u0300-\\u036f]', '', 'g')%s)`,
);

const folded = `do $$ begin
    execute format($f$create or replace function folded(name text) returns text language sql immutable strict parallel safe as
      $b$ select regexp_replace(${typed}, '[ \\t\\n\\r\\f\\v]+', ' ', 'g') $b$ $f$,
      case when exists (select from pg_collation where collname = 'und-x-icu') then ' collate "und-x-icu"' else '' end);
  end $$`;
