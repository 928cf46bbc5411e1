import { DomainError, FleetNotFound, Unavailable, ValidationFailed, VehicleNotFound } from './errors.ts';

/** The error for each violated constraint, by the constraint's name. */
const byConstraint: Readonly<Record<string, () => DomainError>> = {
  vehicle_tally_fleet_id_fkey: () => new FleetNotFound(),
  contract_fleet_id_fkey: () => new FleetNotFound(),
  import_fleet_id_fkey: () => new FleetNotFound(),
  // Rows are rejected while an import runs; until it has ended it can only go with its fleet.
  import_rejection_import_id_fkey: () => new FleetNotFound(),
  contract_vehicle_id_fkey: () => new VehicleNotFound('This fleet has no vehicle with this VIN.'),
};

const unreachable = () =>
  new Unavailable(
    'The database cannot be reached right now. Try again; with an Idempotency-Key nothing is done twice, should it have been done.',
  );
/** The error of a file that would have to be kept. */
const noRoom = () =>
  new Unavailable(
    'There is no room for the file at the moment. With fleetId before the file none is needed; or try again.',
  );
const exhausted = () => new Unavailable('The service cannot open another connection or file right now. Try again.');
const notText = () => new ValidationFailed([], 'The request holds characters that are not text.');

/** SQLSTATEs (or their classes) and Node's codes that mean something to the caller. */
const byCode: Readonly<Record<string, () => DomainError>> = {
  '08': unreachable, // connection exceptions
  '53': unreachable, // out of connections, memory or disk
  '57P': unreachable, // shut down, crashed, starting
  '58': unreachable, // its operating system failed it
  '25006': unreachable, // read-only: a standby that is being promoted
  '40001': unreachable, // serialisation failure
  '40P01': unreachable, // deadlock
  '55P03': unreachable, // lock not available
  '57014': () => new Unavailable('The database took too long. Nothing was changed; try again.'),
  '22021': notText,
  '22P05': notText,
  EAI_AGAIN: unreachable,
  ECONNABORTED: unreachable,
  ECONNREFUSED: unreachable,
  ECONNRESET: unreachable,
  EHOSTDOWN: unreachable,
  EHOSTUNREACH: unreachable,
  ENETDOWN: unreachable,
  ENETUNREACH: unreachable,
  ENOTFOUND: unreachable,
  EPIPE: unreachable,
  ETIMEDOUT: unreachable,
  EADDRNOTAVAIL: exhausted,
  EAGAIN: exhausted,
  EMFILE: exhausted,
  ENFILE: exhausted,
  ENOBUFS: exhausted,
  ENOMEM: exhausted,
  ENOSPC: noRoom, // of our own disk: the database's has a SQLSTATE
  EDQUOT: noRoom,
  EROFS: noRoom,
};

/** Messages of pg for lost or refused connections, which have no code. */
const connectionMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/;

/** The rule of the database that an error says was broken. */
export function brokenRule(error: Error): string | undefined {
  const { constraint } = error as { constraint?: unknown };
  return typeof constraint === 'string' ? constraint : undefined;
}

/** The error that a caller may read for any error, or null for an unexpected one, which is a fault of this service. */
export function domainErrorOf(error: unknown): DomainError | null {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DomainError) return cause;
    const { code } = cause as { code?: unknown };
    const known =
      byConstraint[brokenRule(cause) ?? ''] ||
      (typeof code === 'string' && (byCode[code] ?? byCode[code.slice(0, 3)] ?? byCode[code.slice(0, 2)])) ||
      (connectionMessages.test(cause.message) && unreachable);
    if (known) return Object.assign(known(), { cause: error });
  }
  return null;
}
