import { type Fault, faultOf } from '../database/sqlstate.ts';
import { DomainError, FleetNotFound, RateLimited, Unavailable, ValidationFailed, VehicleNotFound } from './errors.ts';

const byConstraint: Readonly<Record<string, () => DomainError>> = {
  vehicle_tally_fleet_id_fkey: () => new FleetNotFound(),
  contract_fleet_id_fkey: () => new FleetNotFound(),
  import_fleet_id_fkey: () => new FleetNotFound(),
  // Rows are rejected while an import runs; until it has ended it can only go with its fleet.
  import_rejection_import_id_fkey: () => new FleetNotFound(),
  contract_vehicle_id_fkey: () => new VehicleNotFound('This fleet has no vehicle with this VIN.'),
};

const HELD = 'Another change holds what this one needs. Nothing was changed; try again in 2 s.';
const UNDONE = 'Nothing was changed; try again.';
const UNKNOWN = 'Try again; with an Idempotency-Key nothing is done twice, should it have been done.';

/** The error that says in which state the database is. Only the company's own work can hold its rows locked. */
const ofState = ({ is, says, undone }: Fault): DomainError =>
  is === 'held' ? new RateLimited(2, HELD) : new Unavailable(`${says} ${undone ? UNDONE : UNKNOWN}`);

/** Whether a statement waited for a lock in vain. */
export const isHeld = (error: unknown): boolean => faultOf(error)?.is === 'held';

/** Errors that the database's state does not explain, by SQLSTATE. */
const byCode: readonly [codes: RegExp, error: () => DomainError][] = [
  [/^(22021|22P05)$/, () => new ValidationFailed([], 'The request holds characters that are not text.')],
  [
    /^(EADDRNOTAVAIL|EAGAIN|EMFILE|ENFILE|ENOBUFS|ENOMEM)$/,
    () => new Unavailable('The service cannot open another connection or file right now. Try again.'),
  ],
  [
    /^(ENOSPC|EDQUOT|EROFS)$/,
    () =>
      new Unavailable(
        'The gateway has no room for the file right now. Try again later, or send CSV with fleetId before the file.',
      ),
  ],
];

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
    const fault = faultOf(cause);
    const known =
      byConstraint[violatedConstraint(cause) ?? ''] ??
      byCode.find(([codes]) => codes.test(code))?.[1] ??
      (fault && (() => ofState(fault)));
    if (known) return Object.assign(known(), { cause: error });
  }
  return null;
}
