import { Socket } from 'node:net';
import { createPostgreSqlTypeParsers } from '@mikro-orm/sql';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { type Step, traced } from '../telemetry/telemetry.ts';
import { statementLimitIn } from './session.ts';
import { type Fault, faultOf } from './sqlstate.ts';

/**
 * Statements that a connection prepares, at some 30 kB each. Clients of GraphQL make ever new texts, so a text is named
 * at its third use, and a new connection replaces a full one.
 */
const MOST_PREPARED = 300;
const USES_UNNAMED = 2;

/** A statement under its name, as pg takes it. */
class NamedStatement {
  readonly name: string;
  readonly forValues: pg.QueryConfig;
  readonly forTexts: pg.QueryConfig;

  /** pg copies own properties for each query, by their descriptors: up to 13 µs. Inherited ones it only reads. */
  constructor(name: string, text: string) {
    this.name = name;
    this.forValues = Object.create({ text, name });
    this.forTexts = Object.create({ text, name, ...textRows });
  }
}

class NamedStatements {
  readonly #statements = new LRUCache<string, NamedStatement>({ max: MOST_PREPARED });
  readonly #uses = new LRUCache<string, number>({ max: MOST_PREPARED });
  #count = 0;

  of(text: string): NamedStatement | undefined {
    const known = this.#statements.get(text);
    if (known) return known;
    const uses = this.#uses.get(text) ?? 0;
    this.#uses.set(text, uses + 1);
    if (uses < USES_UNNAMED) return undefined;
    this.#uses.delete(text);
    const statement = new NamedStatement(`s${this.#count++}`, text);
    this.#statements.set(text, statement);
    return statement;
  }
}

const statements = new NamedStatements();

/** Times are texts as PostgreSQL writes them, as on MikroORM's own connections. */
const types = new pg.TypeOverrides();
const TEXT_ARRAY: number = 1009;
for (const [type, parse] of Object.entries(createPostgreSqlTypeParsers(pg.types.getTypeParser(TEXT_ARRAY)))) {
  types.setTypeParser(Number(type), parse);
}

const asText = (value: string) => value;
const textRows = { rowMode: 'array', types: { getTypeParser: () => asText } as unknown as pg.CustomTypesConfig };

type Result = pg.QueryResult<object>;

/** A standby is read-only, too. */
export const READ_ONLY = 'show transaction_read_only';
export const isOn = (rows: readonly unknown[] | null): boolean =>
  (rows?.[0] as { transaction_read_only: string } | undefined)?.transaction_read_only === 'on';

/** The longest life of a connection, half of it by chance: an address may lead elsewhere by then, and the old server still answer. */
const LIFE_MS = 30 * 60_000;

/** A connection that prepares each statement once, which saves parsing and planning. */
export class PostgresConnection extends pg.Client {
  readonly socket: Socket;
  /** Statements without an answer. */
  waiting = 0;
  isConnected = false;
  /** Whether its server's name is resolved. */
  hasAddress = false;
  /** Whether it leads to a server that takes no changes, as far as it was asked. */
  isReadOnly = false;
  /** The time (ms) within which the server answers or cancels a statement; a transaction may set its own. */
  limitMs: number;
  readonly #usualLimitMs: number;
  #isEnding = false;
  #leavesAt = performance.now() + LIFE_MS * (0.5 + Math.random() / 2);
  readonly #prepared = new Set<string>();

  constructor(config: pg.ClientConfig) {
    const socket = new Socket();
    // pg's pool makes the password of its options non-enumerable, so a spread alone leaves it out.
    super({ types, ...config, password: config.password, stream: () => socket });
    this.socket = socket;
    this.#usualLimitMs =
      config.statement_timeout || (statementLimitIn(config.options ?? '') ?? Number.POSITIVE_INFINITY);
    this.limitMs = this.#usualLimitMs;
    socket.once('connectionAttempt', () => {
      this.hasAddress = true;
    });
    this.once('connect', () => {
      this.isConnected = true;
    });
    // Statements reject by themselves, and `end` follows; without a listener an error would end the process.
    this.on('error', () => {});
  }

  /** pg leaves the socket open where it gives up by itself, such as without a password that the server asks for. */
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const begun = super.connect().then((client) => this.begin().then(() => client));
    const connected = begun.catch((error: Error) => {
      this.socket.destroy();
      throw error;
    });
    if (!callback) return connected;
    connected.then(() => callback(null as never), callback);
    return undefined;
  }

  /** What is asked of a new connection before its user has it. */
  protected async begin(): Promise<void> {}

  /** Asks whether its server takes changes. */
  async askReadOnly(): Promise<boolean> {
    this.isReadOnly = isOn((await this.send(READ_ONLY)).rows);
    return this.isReadOnly;
  }

  /** Whether it needs a replacement: it has prepared enough or lived long enough, is lost, or is ending. */
  get isSpent(): boolean {
    const isOver = this.#isEnding || this.socket.destroyed || performance.now() > this.#leavesAt;
    return isOver || this.#prepared.size >= MOST_PREPARED;
  }

  leaveWithin(ms: number): void {
    this.#leavesAt = Math.min(this.#leavesAt, performance.now() + ms);
  }

  /** The server says that it ends a connection before it does. */
  protected meet({ is, leaves }: Fault): void {
    if (leaves && !(is === 'read-only' && this.isReadOnly)) this.#isEnding = true;
  }

  /** Has statements of this turn of the event loop go out together. */
  cork(): void {
    if (this.socket.writableCorked > 0) return;
    this.socket.cork();
    setImmediate(() => this.socket.uncork());
  }

  /** Runs a statement. A text of several has no values: it cannot be prepared. `asTexts`: rows are arrays of texts. */
  send(text: string, values: readonly unknown[] = [], asTexts = false): Promise<Result> {
    const named = values.length > 0 ? this.#namedFor(text) : undefined;
    const query = named?.[asTexts ? 'forTexts' : 'forValues'] ?? { text, ...(asTexts && textRows) };
    return this.#query(query, values);
  }

  #namedFor(text: string): NamedStatement | undefined {
    const statement = statements.of(text);
    if (statement === undefined || this.#prepared.has(statement.name)) return statement;
    if (this.#prepared.size >= MOST_PREPARED) return undefined;
    this.#prepared.add(statement.name);
    return statement;
  }

  /** Queries by callback: each of pg's promises keeps the next one alive, so results would live longer. */
  #query(query: pg.QueryConfig, values: readonly unknown[]): Promise<Result> {
    return traceStatement(query.text, () => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      this.waiting += 1;
      const own = query.text.includes('statement_timeout') && statementLimitIn(query.text);
      if (own) this.limitMs = own;
      else if (/^(commit|rollback)$/i.test(query.text)) this.limitMs = this.#usualLimitMs;
      // Its types have values beside a configuration, but not with a callback.
      this.query(query as never, [...values], (error: Error | null, result: Result) => {
        this.waiting -= 1;
        if (!error) return resolve(result);
        const fault = faultOf(error);
        if (fault) this.meet(fault);
        reject(error);
      });
      return promise;
    });
  }
}

/** A statement that adds many rows repeats itself. */
const LONGEST_TEXT = 4_000;

/** MikroORM's unit of work writes values into the text. The last one may have been cut off. */
const LITERAL = /'(?:[^']|'')*(?:'|$)/g;

/** Sends a statement as a step of a trace, with its text and without values. */
export async function traceStatement<T>(text: string, send: () => Promise<T>): Promise<T> {
  return traced(() => stepOf(text), send);
}

/** The first change in a statement, also in a `with` clause. `for update` is a lock, no change. */
const CHANGE = /\b(insert|delete|(?<!for |key |do )update)\s+(?:into\s+|from\s+)?(?:"?\w+"?\.)?"?(\w+)/i;
const READ = /\bfrom\s+(?:"?\w+"?\.)?"?(\w+)/i;

/** The main operation of a statement and its table: the first change of several. */
function gistOf(text: string): { operation: string; table: string | undefined } {
  const [, change = '', changed] = CHANGE.exec(text) ?? [];
  if (change) return { operation: change.toUpperCase(), table: changed };
  const [, first = ''] = /^\W*(\w+)/.exec(text) ?? [];
  return { operation: first.toUpperCase().replace('WITH', 'SELECT'), table: READ.exec(text)?.[1] };
}

function stepOf(sent: string): Step {
  const text = sent.slice(0, LONGEST_TEXT).replaceAll(LITERAL, '?');
  const { operation, table } = gistOf(text);
  const summary = table ? `${operation} ${table}` : operation;
  const labels = { 'db.system.name': 'postgresql', 'db.operation.name': operation };
  return {
    name: summary,
    kind: 'client',
    place: 'inside',
    attributes: { ...labels, 'db.query.summary': summary, 'db.query.text': text },
    measured: { metric: 'db.client.operation.duration', labels },
  };
}
