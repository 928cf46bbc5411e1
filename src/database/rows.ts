import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';

/**
 * Rows as the server sends them: whole DataRow messages of PostgreSQL's protocol, one behind the other, their values in
 * binary. Making an object of each, or texts of its values, takes several times what is done with them.
 */
export type Rows = readonly Buffer[];

const DATA_ROW = 'D'.charCodeAt(0);
/** What stands before the body of a message: its kind, and its length without that. */
const HEADER = 5;
const NOTHING: Buffer = Buffer.alloc(0);

const lengthAt = (bytes: Buffer, at: number): number => 1 + bytes.readUInt32BE(at + 1);

/** What pg keeps of its own protocol, and does not tell of in its types. */
interface Wire {
  stream: Duplex;
  submittedNamedStatements: Record<string, string>;
  attachListeners(stream: Pick<Duplex, 'on'>): void;
  parse(message: { text: string; name: string | undefined }): void;
  bind(message: object): void;
  execute(message: null): void;
  sync(): void;
}
interface Insides {
  connection: Wire;
  _getActiveQuery(): unknown;
}
interface QueryInsides {
  text: string;
  values: readonly unknown[];
  name: string | undefined;
  hasBeenParsed(wire: Wire): boolean;
}
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;

/** A statement with values, whose rows are taken as they are. It does not ask what they look like: whoever wrote it knows. */
export class RowsQuery extends pg.Query {
  readonly found: Buffer[] = [];

  constructor(text: string, values: readonly unknown[], name: string | undefined, done: (error: Error | null) => void) {
    super(text, values as unknown[], done as never);
    (this as unknown as QueryInsides).name = name;
  }

  /** pg's own would have the rows described. All goes in one piece, since each takes a while to be sent. */
  prepare(wire: Wire): void {
    const { text, name, values, hasBeenParsed } = this as unknown as QueryInsides;
    const isParsed = hasBeenParsed.call(this, wire);
    const messages = messagesOf(text, values, name, isParsed);
    if (!isParsed && name) wire.submittedNamedStatements[name] = text;
    if (wire.stream.writable) wire.stream.write(messages);
  }
}

/** What is written on a connection that leads nowhere. */
const written: Buffer[] = [];
const stream = { writable: true, write: (message: Buffer) => written.push(message) } as unknown as Duplex;
const scribe = new pg.Connection({ stream: () => stream }) as unknown as Wire;

/** What is sent to have a statement run, and its rows come in binary. */
export function messagesOf(text: string, values: readonly unknown[], name?: string, isParsed = false): Buffer {
  written.length = 0;
  if (!isParsed) scribe.parse({ text, name });
  scribe.bind({ statement: name, values, binary: true, valueMapper: prepareValue });
  scribe.execute(null);
  scribe.sync();
  return Buffer.concat(written);
}

/** The rows among the messages that come back. */
export function rowsAmong(messages: Buffer): Rows {
  const rows: Buffer[] = [];
  eachRun(messages, (run, areRows) => {
    if (areRows) rows.push(run);
  });
  return rows;
}

/** Has rows that a RowsQuery waits for go to it past pg. To be called before the client connects. */
export function passRows(client: pg.Client): void {
  const insides = client as unknown as Insides;
  const wire = insides.connection;
  const attach = wire.attachListeners.bind(wire);
  wire.attachListeners = (stream) => {
    const toPg = new EventEmitter();
    attach(toPg as unknown as Duplex);
    const messages = new Messages((run, areRows) => {
      const query = areRows ? insides._getActiveQuery() : null;
      if (query instanceof RowsQuery) query.found.push(run);
      else toPg.emit('data', run);
    });
    stream.on('data', (chunk) => messages.push(chunk));
    stream.on('end', () => toPg.emit('end'));
  };
}

/** Messages one behind the other: rows, or others. */
type TakeRun = (run: Buffer, areRows: boolean) => void;

/** Calls back for each run of whole messages; gives where what is not whole begins. */
function eachRun(bytes: Buffer, take: TakeRun): number {
  let from = 0;
  let at = 0;
  let areRows = false;
  while (at + HEADER <= bytes.length) {
    const end = at + lengthAt(bytes, at);
    if (end > bytes.length) break;
    const isRow = bytes[at] === DATA_ROW;
    if (isRow !== areRows) {
      if (at > from) take(bytes.subarray(from, at), areRows);
      from = at;
      areRows = isRow;
    }
    at = end;
  }
  if (at > from) take(bytes.subarray(from, at), areRows);
  return at;
}

/** Makes whole messages of what arrives in pieces. */
class Messages {
  readonly #take: TakeRun;
  /** The beginning of a header. */
  #start: Buffer = NOTHING;
  /** A message that has not arrived as a whole, as far as it has. */
  #partial: Buffer = NOTHING;
  #arrived = 0;

  constructor(take: TakeRun) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    const bytes = this.#start.length > 0 ? Buffer.concat([this.#start, chunk]) : chunk;
    this.#start = NOTHING;
    const rest = this.#complete(bytes);
    const left = rest.subarray(eachRun(rest, this.#take));
    if (left.length < HEADER) this.#start = left;
    else {
      this.#partial = Buffer.allocUnsafe(lengthAt(left, 0));
      this.#arrived = left.copy(this.#partial);
    }
  }

  /** Adds to the message that was not whole; gives what stands behind it. */
  #complete(bytes: Buffer): Buffer {
    if (this.#partial.length === 0) return bytes;
    const taken = bytes.copy(this.#partial, this.#arrived);
    this.#arrived += taken;
    if (this.#arrived === this.#partial.length) {
      const whole = this.#partial;
      this.#partial = NOTHING;
      eachRun(whole, this.#take);
    }
    return bytes.subarray(taken);
  }
}
