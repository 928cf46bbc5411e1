import { nameOf } from './address.ts';
import { StartError, type TellOperator } from './database.ts';
import { READ_ONLY_REMEDY } from './reason.ts';
import { SESSION } from './session.ts';

/** Where connections work, where they find the tables, and what there is to do that. */
export interface Place {
  dbName: string;
  schema: string | null;
  /** The schema of the tables, if there are any. */
  found: string | null;
  encoding: string;
  readOnly: boolean;
  role: string;
  mayCreateTables: boolean;
  hasExtension: boolean;
  /** Whether the server has the files of the extension. */
  isAvailable: boolean;
  mayCreateExtension: boolean;
  /** Settings of the session that are not the gateway's, as "name value". */
  others: string[];
}

/** PostgreSQL knows transaction_timeout since 17, and older servers end a session that names it; the other is a superuser's. */
const WANTED = { ...SESSION, transaction_timeout: '0', session_replication_role: 'origin' };

export const PLACE = `
  select current_database() as "dbName", current_schema() as schema,
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = to_regclass('vehicle_tally')) as found,
    current_setting('server_encoding') as encoding, current_setting('transaction_read_only')::boolean as "readOnly",
    current_user as role, has_schema_privilege(current_schema(), 'create') as "mayCreateTables",
    exists (select from pg_extension where extname = 'btree_gist') as "hasExtension",
    exists (select from pg_available_extensions where name = 'btree_gist') as "isAvailable",
    has_database_privilege(current_database(), 'create') as "mayCreateExtension",
    array(select name || ' ' || current_setting(name, true) from json_each_text('${JSON.stringify(WANTED)}') w(name, value)
      where current_setting(name, true) <> value) as others`;

/** A place that a gateway can work in. */
export type FitPlace = Place & { schema: string };

/** Refuses a place that no gateway can work in. */
export function checkPlace(place: Place, url: string, tell: TellOperator = () => {}): FitPlace {
  const { schema, found, encoding, readOnly, others } = place;
  const name = nameOf(url);
  if (encoding !== 'UTF8') {
    throw new StartError(
      `The database at ${name} stores texts as ${encoding}, which has not all letters: ` +
        `create one with encoding UTF8 (createdb --template=template0 --encoding=UTF8).`,
    );
  }
  if (schema === null) {
    throw new StartError(
      `search_path of the database names no schema that exists at ${name}, or that the role may use: create it, or grant ` +
        'usage on it, first.',
    );
  }
  if (found !== null && found !== schema) {
    throw new StartError(
      `The tables are in the schema ${found}, but search_path names the schema ${schema} before it, where others would ` +
        `be made: have it name ${found} first to use the tables, or leave ${found} out to begin anew.`,
    );
  }
  if (readOnly) {
    throw new StartError(`Cannot work with the database at ${name}: ${READ_ONLY_REMEDY}.`);
  }
  const remedy =
    'Set it on the role (docs/operations.md): the gateway cannot, or a pooler does not pass on what it sets.';
  const isolation = others.find((one) => one.startsWith('default_transaction_isolation'));
  if (isolation) throw new StartError(`Sessions at ${name} have ${isolation}, in which changes fail. ${remedy}`);
  if (others.length > 0) tell(`Sessions at ${name} have ${others.join(', ')}. ${remedy}`);
  return { ...place, schema };
}

/** Refuses a role that cannot make the tables, where there are none yet. */
export function checkRights({ found, schema, role, dbName, ...place }: FitPlace): void {
  if (found !== null) return;
  if (!place.mayCreateTables) {
    throw new StartError(
      `The role ${role} may not create tables in the schema ${schema}: grant create on schema "${schema}" to "${role}".`,
    );
  }
  if (place.hasExtension) return;
  if (!place.isAvailable) {
    throw new StartError(
      'The server has no extension btree_gist: install it (the package is often postgresql-contrib).',
    );
  }
  if (!place.mayCreateExtension) {
    throw new StartError(
      `The role ${role} may not create the extension btree_gist: have an administrator run "create extension btree_gist" in ` +
        `the database ${dbName}.`,
    );
  }
}
