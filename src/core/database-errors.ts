import { DomainError, FleetNotFound, RateLimited, Unavailable, ValidationFailed, VehicleNotFound } from './errors.ts';

const byConstraint: Readonly<Record<string, () => DomainError>> = {
  vehicle_tally_fleet_id_fkey: () => new FleetNotFound(),
  contract_fleet_id_fkey: () => new FleetNotFound(),
  import_fleet_id_fkey: () => new FleetNotFound(),
  // Rows are rejected while an import runs; until it has ended it can only go with its fleet.
  import_rejection_import_id_fkey: () => new FleetNotFound(),
  contract_vehicle_id_fkey: () => new VehicleNotFound('This fleet has no vehicle with this VIN.'),
};

const unavailable = (message: string) => () => new Unavailable(message);
const unreachable = unavailable(
  'The database cannot be reached right now. Try again; with an Idempotency-Key nothing is done twice, should it have been done.',
);
const noRoom = unavailable(
  'The gateway has no room for the file right now. Try again later, or send CSV with fleetId before the file.',
);
const exhausted = unavailable('The service cannot open another connection or file right now. Try again.');
const held = () =>
  new RateLimited(2, 'Another change holds what this one needs. Nothing was changed; try again in 2 s.');

const byCode: readonly [codes: RegExp, error: () => DomainError][] = [
  // Connection exceptions; no connection, memory or disk left; shut down, crashed or starting; failed operating system.
  [/^(08|53|57P|58)/, unreachable],
  // Read-only, as a standby that is being promoted; serialisation failure; deadlock.
  [/^(25006|40001|40P01)$/, unreachable],
  // Lock not available: a retry succeeds. Companies share no locked rows.
  [/^55P03$/, held],
  [/^(EAI_AGAIN|ECONNABORTED|ECONNREFUSED|ECONNRESET|EHOSTDOWN|EHOSTUNREACH)$/, unreachable],
  [/^(ENETDOWN|ENETUNREACH|ENOTFOUND|EPIPE|ETIMEDOUT)$/, unreachable],
  [/^57014$/, unavailable('The database took too long. Nothing was changed; try again.')],
  [/^(22021|22P05)$/, () => new ValidationFailed([], 'The request holds characters that are not text.')],
  [/^(EADDRNOTAVAIL|EAGAIN|EMFILE|ENFILE|ENOBUFS|ENOMEM)$/, exhausted],
  // The gateway's own disk: errors of the database's have a SQLSTATE.
  [/^(ENOSPC|EDQUOT|EROFS)$/, noRoom],
];

/** Messages of pg for lost or refused connections, which have no code. */
const connectionMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/;

/** The name of the constraint that an error violates. */
export const violatedConstraint = (error: unknown): string | undefined => memberOf(error, 'constraint');

function memberOf(error: unknown, name: 'code' | 'constraint'): string | undefined {
  const value = error instanceof Error && (error as { code?: unknown; constraint?: unknown })[name];
  return typeof value === 'string' ? value : undefined;
}

/** The error for the caller; null for an unexpected one, a fault of this service. */
export function domainErrorOf(error: unknown): DomainError | null {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DomainError) return cause;
    const code = memberOf(cause, 'code') ?? '';
    const known =
      byConstraint[violatedConstraint(cause) ?? ''] ??
      byCode.find(([codes]) => codes.test(code))?.[1] ??
      (connectionMessages.test(cause.message) && unreachable);
    if (known) return Object.assign(known(), { cause: error });
  }
  return null;
}
