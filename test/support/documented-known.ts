import { randomUUID } from 'node:crypto';
import type { Answer, ReceivedRequest } from '../../src/manufacturers/operations.ts';

// What the servers of published documents know (documented.ts).

export type ServiceStatus = 'ACTIVATION_PENDING' | 'ACTIVE' | 'INACTIVE' | 'ACTIVATION_FAILED' | 'NOT_AVAILABLE';

/** A service of a vehicle, and the status that comes by itself at a time, in ms since 1970; `log`: how it stood from a time on. */
export interface Service {
  status: ServiceStatus;
  orderTime: number;
  next: { status: ServiceStatus; at: number } | null;
  log: { status: ServiceStatus; orderTime: number; at: number }[];
}

/** Has a service stand otherwise from a time on. */
export function setService(one: Service, status: ServiceStatus, at: number): void {
  one.status = status;
  one.log.push({ status, orderTime: one.orderTime, at });
}

export type Endpoint =
  | ('token' | 'eligibility' | 'clearances' | 'clearance-list' | 'clearance' | 'clearance-end')
  | ('compatibilities' | 'vehicles' | 'vehicle-list' | 'services' | 'service-status' | 'licence' | 'unknown');

/** What the servers know. */
export interface Known {
  tokens: Set<string>;
  tokenLifetime: number;
  /** What tokens of Mercedes-Benz must be requested for. */
  scope: string;
  /** VINs of the Connect Your Fleet account, and those that may not be in one. */
  account: Set<string>;
  blacklist: Set<string>;
  /** Services by VIN and id; those that can be ordered, and those whose licence has expired. */
  services: Map<string, Service>;
  catalogue: ReadonlyMap<string, 'ordered by accounts' | 'other consent' | 'missing role'>;
  expired: Set<string>;
  /** A service of a vehicle as it is by now. */
  serviceOf(vin: string, serviceId: string): Service | undefined;
  clock(): number;
  /** The decision about a clearance, or a service, and ms until it is made; the time that an end takes. */
  decide(vin: string): { status: 'approved' | 'rejected'; afterMs: number; reason?: string };
  serves(vin: string, serviceId: string): { status: ServiceStatus; afterMs: number };
  endsAfterMs: number;
  /** By how much lists of what a vehicle has are late. */
  lagsMs(vin: string): number;
}

export const hasToken = (known: Known, { headers }: ReceivedRequest): boolean =>
  known.tokens.has(headers.authorization?.replace(/^Bearer /, '') ?? '');

export function issue({ tokens, tokenLifetime }: Known): Answer {
  const token = randomUUID();
  tokens.add(token);
  return [200, { access_token: token, expires_in: tokenLifetime, token_type: 'bearer' }];
}
