// What an error says about the database, in one table: pipelines, pools, the listening connection, jobs, readiness and the answers
// to callers go by it. An error without a row is the statement's own.

export interface Fault {
  readonly is:
    | 'unreachable'
    | 'refused'
    | 'stopping'
    | 'read-only'
    | 'full'
    | 'unprepared'
    | 'conflict'
    | 'held'
    | 'slow';
  /** The state of the database, for callers and operators. */
  readonly says: string;
  /** The connection is no good any more. */
  readonly leaves: boolean;
  /** Nothing was done: even a change can be tried again. */
  readonly undone: boolean;
}

type Row = [codes: RegExp, is: Fault['is'], says: string, leaves: 'leaves' | 'stays', undone: 'undone' | 'unknown'];

const UNREACHABLE = 'The database cannot be reached.';
const STOPPING = 'The database is starting or stopping.';
const ANOTHER = 'Another change came in between.';

/** By SQLSTATE, and by the codes of Node for connections; the first row that fits. */
const rows: readonly Row[] = [
  // A pooler says this, too, of a server that it cannot reach.
  [/^08/, 'unreachable', UNREACHABLE, 'leaves', 'unknown'],
  // The state of a server: a standby, or a primary that was fenced or has no disk left.
  [/^25006$/, 'read-only', 'The database is read-only.', 'leaves', 'undone'],
  [/^26000$/, 'unprepared', 'The database has lost a prepared statement.', 'leaves', 'undone'],
  [/^28/, 'refused', 'The database refuses the credentials.', 'leaves', 'undone'],
  [/^3D000$/, 'refused', 'The database does not exist.', 'leaves', 'undone'],
  [/^40(001|P01)$/, 'conflict', ANOTHER, 'stays', 'undone'],
  [/^53100$/, 'full', 'The database has no disk space left.', 'stays', 'undone'],
  [/^53200$/, 'full', 'The database has no memory left.', 'stays', 'undone'],
  [/^53300$/, 'full', 'The database has no connection left.', 'leaves', 'undone'],
  [/^53/, 'full', 'The database has reached a limit of its settings.', 'stays', 'undone'],
  [/^55P03$/, 'held', 'Another change holds what this one needs.', 'stays', 'undone'],
  [/^57014$/, 'slow', 'The database took too long.', 'stays', 'undone'],
  [/^57P03$/, 'stopping', STOPPING, 'leaves', 'undone'],
  // The database was dropped; the session was idle for too long.
  [/^57P0[45]$/, 'unreachable', UNREACHABLE, 'leaves', 'unknown'],
  [/^57P/, 'stopping', STOPPING, 'leaves', 'unknown'],
  [/^58/, 'unreachable', 'The database cannot use its disk.', 'leaves', 'unknown'],
  [/^E(AI_AGAIN|CONNABORTED|CONNREFUSED|CONNRESET|HOSTDOWN)$/, 'unreachable', UNREACHABLE, 'leaves', 'unknown'],
  [/^E(HOSTUNREACH|NETDOWN|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT)$/, 'unreachable', UNREACHABLE, 'leaves', 'unknown'],
];

const faults = rows.map(([codes, is, says, leaves, undone]) => ({
  codes,
  fault: { is, says, leaves: leaves === 'leaves', undone: undone === 'undone' } satisfies Fault,
}));

const faultOfCode = (code: string): Fault | undefined => faults.find(({ codes }) => codes.test(code))?.fault;

/** Texts of pg about connections that were lost or not made, which have no code. */
const ABOUT_CONNECTIONS =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed|Query read timeout)/;

/** `0A000` is also the statement's own: the function of the server that says it is the same in every language. */
const isOldPlan = ({ code, routine }: Coded): boolean => code === '0A000' && routine === 'RevalidateCachedQuery';

type Coded = { code?: unknown; routine?: unknown };

/** What an error says about the database; null where it is the statement's own. */
export function faultOf(error: unknown): Fault | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as Coded;
  if (isOldPlan(error as Coded)) return faultOfCode('26000') ?? null;
  if (typeof code === 'string') return faultOfCode(code) ?? null;
  return (ABOUT_CONNECTIONS.test(error.message) && faultOfCode('08')) || null;
}

/** The server is not where changes are made. */
export class ReadOnlyError extends Error {
  readonly code = '25006';
  constructor() {
    super('the database is read-only');
  }
}
