import { z } from 'zod';
import { clearanceBrands } from './brands.ts';
import { type Answer, empty, type Operation, operation, type ReceivedRequest } from './operations.ts';

type Status = 'pending' | 'approved' | 'rejected' | 'revoking' | 'revoked' | 'canceling' | 'canceled';

export interface Clearance {
  vin: string;
  brand: string;
  status: Status;
  changelog: { timestamp: string; status: Status; reason?: string }[];
  /** The status that comes by itself at a time, in ms since 1970. */
  next: Change | null;
}

interface Change {
  status: Status;
  at: number;
  reason?: string;
}

interface Options {
  allows(request: ReceivedRequest): boolean;
  /** The decision about a vehicle, and ms until it is made; the time that an end takes. */
  decide(vin: string): { status: 'approved' | 'rejected'; afterMs: number; reason?: string };
  endsAfterMs(): number;
  /** A fault of the whole request that creates clearances of these VINs; null: none. */
  fails?(vins: readonly string[]): Answer | null;
  clock(): number;
}

const DAY_MS = 86_400_000;
const DOCUMENT = 'hm-fleet-clearance-v1.yml';
/** `Delete clearance` names the brands whose pending clearances can be cancelled; the others are those of Stellantis. */
const cancelled = [
  ...['mercedes-benz', 'volkswagen', 'audi', 'skoda', 'seat', 'cupra', 'alfaromeo', 'citroen', 'ds', 'fiat', 'jeep'],
  ...['maserati', 'opel', 'peugeot', 'vauxhall'],
];

const errors = (title: string, source?: string, detail?: string) => ({ errors: [{ title, source, detail }] });
const tooEarly = errors('too early', 'status', 'the pending status could only be canceled after 1 day it’s created');
const condition = z.strictObject({ operator: z.enum(['eq', 'in']), value: z.union([z.string(), z.array(z.string())]) });
const filters = z.strictObject({ vin: condition, status: condition, brand: condition }).partial();
const filter = z.string().transform((text, context): z.output<typeof filters> => {
  try {
    return filters.parse(JSON.parse(text));
  } catch {
    context.addIssue('is no filter');
    return z.NEVER;
  }
});
const vehicle = z.strictObject({
  vin: z.string(),
  brand: z.string(),
  tags: z.record(z.string(), z.string()).optional(),
});
const ofVin = z.strictObject({ ...empty, params: z.strictObject({ vin: z.string() }) });

/** High Mobility's Fleet Clearance API as its document has it, with clearances in memory. */
export function clearanceServer({ allows, decide, endsAfterMs, fails, clock }: Options) {
  const byVin = new Map<string, Clearance>();

  function set(one: Clearance, to: Omit<Change, 'at'>, next: Clearance['next'], at = clock()): void {
    const { status, reason } = to;
    one.status = status;
    one.next = next;
    // Timestamps of the document's examples name no zone.
    const timestamp = new Date(at).toISOString().slice(0, 19);
    one.changelog.push({ timestamp, status, ...(reason && { reason }) });
  }

  /** The clearance of a VIN as it is by now. */
  function find(vin: string): Clearance | undefined {
    const one = byVin.get(vin);
    if (one?.next && one.next.at <= clock()) set(one, one.next, null, one.next.at);
    return one;
  }

  const shown = ({ next: _, ...one }: Clearance) => ({ ...one, tags: {} });
  const again: readonly Status[] = ['rejected', 'revoked', 'canceled'];

  function create({ vin, brand }: z.output<typeof vehicle>) {
    if (vin.length !== 17) return { vin, status: 'error', description: 'vin should be 17 character(s)' };
    if (!clearanceBrands.some((id) => id === brand))
      return { vin, status: 'error', description: 'The brand is invalid' };
    const known = find(vin);
    if (known && !again.includes(known.status)) return { vin, status: known.status, tags: {} };
    const one: Clearance = { vin, brand, status: 'pending', changelog: known?.changelog ?? [], next: null };
    const { status, afterMs, reason } = decide(vin);
    set(one, { status: 'pending' }, { status, at: clock() + afterMs, ...(reason && { reason }) });
    byVin.set(vin, one);
    return { vin, status: one.status, tags: {} };
  }

  function remove(vin: string): Answer {
    const one = find(vin);
    if (!one) return [404, errors('Not found', 'vin')];
    if (again.includes(one.status)) return [409, errors('Conflict', 'vin', 'Clearance is already removed')];
    if (one.status === 'revoking' || one.status === 'canceling')
      return [409, errors('Conflict', 'vin', 'Clearance is in transition mode')];
    const [doing, done] =
      one.status === 'approved' ? (['revoking', 'revoked'] as const) : (['canceling', 'canceled'] as const);
    if (doing === 'canceling') {
      if (!cancelled.includes(one.brand))
        return [422, errors('not supported', 'vin', 'cancellation is not supported for this vin')];
      const since = Date.parse(`${one.changelog.at(-1)?.timestamp}Z`);
      if (clock() < since + DAY_MS) return [422, tooEarly];
    }
    set(one, { status: doing }, { status: done, at: clock() + endsAfterMs() });
    return [200, { vin, status: doing, tags: {} }];
  }

  const refuses: Parameters<typeof operation>[0]['refuses'] = ([first]) => [
    422,
    errors('invalid', first?.path.slice(1).join('.') || 'body', first?.message),
  ];
  // `ClearanceUnauthorizedErrors` has lists in its list.
  const bars = (request: ReceivedRequest): Answer | null =>
    allows(request) ? null : [401, { errors: [errors('Unauthorized', 'Authorization').errors] }];
  const common = { document: DOCUMENT, bars, refuses };
  const operations: Operation[] = [
    operation({
      ...common,
      name: 'clearances',
      method: 'POST',
      path: '/v1/fleets/vehicles',
      takes: z.strictObject({ ...empty, body: z.strictObject({ vehicles: z.array(vehicle) }) }),
      answers: ({ body: { vehicles } }) =>
        fails?.(vehicles.map(({ vin }) => vin)) ?? [200, { vehicles: vehicles.map(create) }],
    }),
    operation({
      ...common,
      name: 'clearance-list',
      method: 'GET',
      path: '/v1/fleets/vehicles',
      takes: z.strictObject({ ...empty, query: z.strictObject({ filter: filter.optional() }) }),
      answers: ({ query: { filter } }) => {
        const named = (name: 'vin' | 'status' | 'brand') => filter?.[name] && new Set([filter[name].value].flat());
        const [vins, statuses, brands] = [named('vin'), named('status'), named('brand')];
        const all = [...(vins ?? byVin.keys())].flatMap((vin) => find(vin) ?? []);
        const fits = ({ status, brand }: Clearance) => (statuses?.has(status) ?? true) && (brands?.has(brand) ?? true);
        return [200, all.filter(fits).map(shown)];
      },
    }),
    operation({
      ...common,
      name: 'clearance',
      method: 'GET',
      path: '/v1/fleets/vehicles/:vin',
      takes: ofVin,
      answers: ({ params }) => {
        const one = find(params.vin);
        return one ? [200, shown(one)] : [404, errors('Not found', 'vin')];
      },
    }),
    operation({
      ...common,
      name: 'clearance-end',
      method: 'DELETE',
      path: '/v1/fleets/vehicles/:vin',
      takes: ofVin,
      answers: ({ params }) => remove(params.vin),
    }),
  ];
  return { operations, find };
}
