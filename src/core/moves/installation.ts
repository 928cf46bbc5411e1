import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { nameOf } from '../../database/address.ts';
import { LISTENING_NAME } from '../../database/listening-connection.ts';
import { reasonOf } from '../../database/reason.ts';
import { session } from '../../database/session.ts';
import { type Placement, type PlacementState, placementChannel } from './placement.ts';

/** Why a company does not move, for the operator. */
export class MoveError extends Error {}

const POLL_MS = 50;

/** What is decided here must outlive a crash, and takes its time. */
const PATIENT = { synchronous_commit: 'on', statement_timeout: '0', lock_timeout: '0' };
const CONNECTION = { application_name: 'fleet-gateway companies', connectionTimeoutMillis: 8_000 };

/** The schema of a gateway's tables, wherever search_path would look. */
const FIND_SCHEMA = `select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = 'placement' and has_schema_privilege(n.oid, 'usage') and
    exists (select from pg_class where relname = 'vehicle_tally' and relnamespace = n.oid)
  order by c.oid = to_regclass('placement') desc nulls last limit 1`;

/** Rows of companies that do not move: what is due next, and what a running upload has staged (unlogged). */
export const stayingTables = ['schedule', 'import_batch'];

/** Columns of the tables that move, whose keys begin with the company; tables that others refer to come last. */
const FIND_COLUMNS = `select c.relname as table, a.attname as column,
    a.attnotnull and not a.atthasdef and a.attidentity = '' as "isRequired"
  from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_attribute key on key.attrelid = c.oid and key.attnum = i.indkey[0] and key.attname = 'company'
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = current_schema::regnamespace and c.relname <> all ($1) and c.relname <> 'placement'
  order by exists (select from pg_constraint where confrelid = c.oid and contype = 'f'), c.relname, a.attnum`;
export interface Column {
  table: string;
  column: string;
  /** Whether a row must bring a value. */
  isRequired: boolean;
}

const ACKNOWLEDGED = `select
  (select count(*)::int from process where alive_until > now() and not fences @> array[$1]::uuid[]) as waiting,
  (select count(*)::int from process where alive_until > now()) as alive,
  (select count(*)::int from pg_stat_activity where datname = current_database() and application_name = $2) as listening`;
type Acknowledged = Record<'waiting' | 'alive' | 'listening', number>;

interface Placing {
  company: string;
  state: PlacementState;
  other: Installation;
  /** Statements of the same transaction, in which $1 is the company. */
  also?: readonly string[];
  /** Waits so many seconds until every process has acknowledged it. */
  within?: number;
}

/** The database of an installation, as its administrator sees it. */
export class Installation {
  readonly name: string;
  readonly url: string;
  readonly schema: string;
  readonly columns: readonly Column[];
  /** Children before parents. */
  readonly tables: readonly string[];
  readonly #client: pg.Client;

  private constructor(name: string, url: string, schema: string, columns: readonly Column[], client: pg.Client) {
    this.name = name;
    this.url = url;
    this.schema = schema;
    this.columns = columns;
    this.tables = [...new Set(columns.map(({ table }) => table))];
    this.#client = client;
  }

  static async open(name: string, url: string): Promise<Installation> {
    const client = new pg.Client({ ...session(url, PATIENT), ...CONNECTION });
    client.on('error', () => {});
    try {
      await client.connect();
      const { schema } = (await client.query(FIND_SCHEMA)).rows[0] ?? {};
      if (!schema)
        throw new Error('its role finds no tables of this version: run "npm run migrate -- up", or name a superuser');
      await client.query(`set search_path to ${pg.escapeIdentifier(schema)}`);
      const { rows: columns } = await client.query<Column>(FIND_COLUMNS, [stayingTables]);
      return new Installation(name, url, schema, columns, client);
    } catch (cause) {
      void client.end();
      throw new MoveError(`Cannot work with installation ${name} at ${nameOf(url)}: ${reasonOf(cause)}`, { cause });
    }
  }

  close = (): Promise<void> => this.#client.end();

  async query<Row = Record<string, unknown>>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const answer = this.#client.query(text, [...values]).catch((cause: Error) => {
      throw new MoveError(`PostgreSQL of ${this.name}: ${reasonOf(cause)}`, { cause });
    });
    return (await answer).rows as Row[];
  }

  /** The only value of the only row. */
  async one<T>(text: string, values: readonly unknown[] = []): Promise<T> {
    const [row] = await this.query(text, values);
    return Object.values(row ?? {})[0] as T;
  }

  /** Does what no other command does at the same time, by name. */
  async alone<T>(name: string, work: () => Promise<T>, wait = (): void => {}): Promise<T> {
    const lock = `lock(hashtextextended(${pg.escapeLiteral(`companies ${this.name} ${name}`)}, 0))`;
    if (!(await this.one<boolean>(`select pg_try_advisory_${lock}`))) {
      wait();
      await this.query(`select pg_advisory_${lock}`);
    }
    return await work().finally(() => this.query(`select pg_advisory_un${lock}`));
  }

  async placeOf(company: string): Promise<Placement | null> {
    const [place] = await this.query<Placement>('select * from placement where company = $1', [company]);
    return place ?? null;
  }

  /** Records where a company is, beside other statements, and tells the processes. Throws MoveError. */
  async place({ company, state, other, also = [], within }: Placing): Promise<void> {
    const fence = within === undefined ? null : randomUUID();
    const literal = (value: string) => pg.escapeLiteral(value);
    const values = [company, state, other.name].map(literal).join(', ');
    // One query is one transaction.
    await this.query(`${also.map((statement) => `${statement.replaceAll('$1', () => literal(company))};`).join('\n')}
      insert into placement (company, state, installation, fence) values (${values}, ${fence ? literal(fence) : 'null'})
        on conflict (company) do update set state = excluded.state, installation = excluded.installation,
          fence = excluded.fence, changed_at = clock_timestamp();
      select pg_notify(${literal(placementChannel)}, '')`);
    if (within === undefined) return;
    for (const end = performance.now() + within * 1000; ; await delay(POLL_MS)) {
      const [row] = await this.query<Acknowledged>(ACKNOWLEDGED, [fence, LISTENING_NAME]);
      const { waiting, alive, listening } = row as Acknowledged;
      if (waiting === 0 && listening <= alive) return;
      if (performance.now() < end) continue;
      throw new MoveError(
        listening > alive
          ? `Processes of installation ${this.name} that say nothing about companies that leave: ${listening - alive}. Start them with INSTALLATION=${this.name}, or end them.`
          : `After ${within} s, something of the company was still under way in ${waiting} of the processes of installation ${this.name}.`,
      );
    }
  }
}
