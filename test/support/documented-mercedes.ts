import { z } from 'zod';
import {
  type Answer,
  empty,
  type Operation,
  operation,
  type ReceivedRequest,
} from '../../src/manufacturers/operations.ts';
import { hasToken, issue, type Known, type Service, setService } from './documented-known.ts';

// Mercedes-Benz Connect Your Fleet, as mercedes-vehicle-management.yaml has it. Names in comments are its operationIds.

const document = 'mercedes-vehicle-management.yaml';
const MOST_VEHICLES = 10_000;
const MOST_OPERATIONS = 10_000;
const MOST_SERVICES = 100;

const vin = z.string().regex(/^[A-HJ-NPR-Z0-9]{13}\d{4}$/);
const vehicles = z.array(z.strictObject({ vin }));
const listed = vehicles.max(MOST_VEHICLES).refine((all) => new Set(all.map((one) => one.vin)).size === all.length);
const desired = z.strictObject({ serviceId: z.string(), desiredStatus: z.enum(['ACTIVE', 'INACTIVE']) });
const orders = z
  .array(z.strictObject({ vin, services: z.array(desired).max(MOST_SERVICES) }))
  .refine((all) => all.flatMap(({ services }) => services).length <= MOST_OPERATIONS);

const problem = (statusCode: number, type: string, title: string, more: object): Answer => [
  statusCode,
  { type, title, statusCode, detail: title, instance: 'about:blank', ...more },
];
const notFound = (vins: readonly string[]) => problem(404, '/vehicle/not-found', 'Vehicle not found', { vins });

/** Only a VIN that is one and breaks the pattern is a fault of the field `vin`. */
const refuses = (issues: readonly z.core.$ZodIssue[]) =>
  problem(400, '/error/validation-error', 'Bad request', {
    validationErrors: issues.map(({ code, path, message }) => ({
      field: code === 'invalid_format' ? 'vin' : `request.${path.join('.')}`,
      message,
    })),
  });

export function mercedes(known: Known): Operation[] {
  const bars = (request: ReceivedRequest): Answer | null => (hasToken(known, request) ? null : [401]);
  const common = { document, bars, refuses };

  /** What forbids a request as a whole: a blacklisted vehicle, or one that is not in the account. */
  function forbids(vins: readonly string[]): Answer | null {
    const listed = vins.filter((one) => known.blacklist.has(one));
    if (listed.length > 0)
      return problem(403, '/vehicle/blacklist', 'Blacklisted vehicle(s) request', { vins: listed });
    const strangers = vins.filter((one) => !known.account.has(one));
    return strangers.length > 0 ? notFound(strangers) : null;
  }

  function change(ordered: string, { serviceId, desiredStatus }: z.output<typeof desired>): void {
    const orderTime = known.clock();
    const one: Service = known.serviceOf(ordered, serviceId) ?? { status: 'INACTIVE', orderTime, next: null, log: [] };
    known.services.set(`${ordered} ${serviceId}`, one);
    one.orderTime = orderTime;
    if (desiredStatus === 'INACTIVE') {
      one.next = { status: 'INACTIVE', at: orderTime + known.endsAfterMs };
      return;
    }
    const { status, afterMs } = known.serves(ordered, serviceId);
    one.next = one.status === 'ACTIVE' ? null : { status, at: orderTime + afterMs };
    setService(one, one.next ? 'ACTIVATION_PENDING' : one.status, orderTime);
  }

  return [
    // assignVehicle: all or nothing.
    operation({
      ...common,
      name: 'vehicles',
      method: 'POST',
      path: '/v1/accounts/vehicles',
      takes: z.strictObject({ ...empty, body: listed }),
      answers: ({ body }) => {
        const vins = body.map((one) => one.vin).filter((one) => known.blacklist.has(one));
        if (vins.length > 0) return problem(403, '/vehicle/blacklist', 'Blacklisted vehicle(s) request', { vins });
        for (const one of body) known.account.add(one.vin);
        return [201];
      },
    }),
    // queryVehicles
    operation({
      ...common,
      name: 'vehicle-list',
      method: 'GET',
      path: '/v1/accounts/vehicles',
      takes: z.strictObject(empty),
      answers: () => [200, [...known.account].map((vin) => ({ vin }))],
    }),
    // getVehicleCompatibilities
    operation({
      ...common,
      name: 'compatibilities',
      method: 'GET',
      path: '/v1/accounts/vehicles/:vin/compatibilities',
      takes: z.strictObject({ ...empty, params: z.strictObject({ vin }) }),
      answers: ({ params }) => {
        if (!known.account.has(params.vin)) return notFound([params.vin]);
        const services = [{ serviceId: '1001', serviceName: 'Mileage', available: true }];
        const vehicleType = 'Battery Electric Vehicle';
        return [200, { vin: params.vin, vehicleProvidesConnectivity: true, vehicleType, services }];
      },
    }),
    // changeVehicleServiceStatus: all or nothing.
    operation({
      ...common,
      name: 'services',
      method: 'POST',
      path: '/v2/accounts/vehicles/services',
      takes: z.strictObject({ ...empty, body: orders }),
      answers: ({ body }) => {
        const forbidden = forbids(body.map((one) => one.vin));
        if (forbidden) return forbidden;
        const ids = [...new Set(body.flatMap(({ services }) => services.map(({ serviceId }) => serviceId)))];
        const unknown = ids.filter((id) => !known.catalogue.has(id));
        if (unknown.length > 0)
          return problem(404, '/services/not-found', 'Services not found!', { services: unknown });
        const illegal = ids.filter((id) => known.catalogue.get(id) === 'other consent');
        if (illegal.length > 0)
          return problem(400, '/services/illegal-consent-type', 'Bad request', { services: illegal });
        // Described as an answer to a change, and shown with queryVehicleServiceStatus.
        const barred = ids.filter((id) => known.catalogue.get(id) === 'missing role');
        if (barred.length > 0)
          return problem(400, '/vehicles/services/no-permission', 'No permission', { services: barred });
        for (const { vin: ordered, services } of body) for (const one of services) change(ordered, one);
        return [202];
      },
    }),
    // queryVehicleServiceStatus
    operation({
      ...common,
      name: 'service-status',
      method: 'GET',
      path: '/v2/accounts/vehicles/:vin/services',
      takes: z.strictObject({ ...empty, params: z.strictObject({ vin }) }),
      answers: ({ params }) => {
        if (!known.account.has(params.vin)) return notFound([params.vin]);
        const services = [...known.catalogue.keys()].flatMap((serviceId) => {
          const service = known.serviceOf(params.vin, serviceId);
          const lag = known.lagsMs(params.vin);
          const one = lag === 0 ? service : service?.log.findLast(({ at }) => at <= known.clock() - lag);
          return one ? [{ serviceId, status: one.status, orderTime: one.orderTime }] : [];
        });
        return [200, { vin: params.vin, deltaPush: true, services }];
      },
    }),
    // getAllLicensesForVehicleAndGenericService
    operation({
      ...common,
      name: 'licence',
      method: 'GET',
      path: '/v1/accounts/vehicles/:vin/services/:service/license-status',
      takes: z.strictObject({ ...empty, params: z.strictObject({ vin, service: z.string() }) }),
      answers: ({ params: { vin: asked, service } }) => {
        if (!known.account.has(asked)) return notFound([asked]);
        if (!known.catalogue.has(service))
          return problem(404, '/services/not-found', 'Services not found!', { services: [service] });
        const status = known.expired.has(service) ? 'EXPIRED' : 'ACTIVE';
        return [200, { vin: asked, serviceId: service, status, validFrom: 1 }];
      },
    }),
    // Where tokens come from is no part of the document: RFC 6749, section 4.4, by Basic.
    operation({
      name: 'token',
      document: '',
      method: 'POST',
      path: '/v1/token',
      media: 'application/x-www-form-urlencoded',
      takes: z.strictObject({
        ...empty,
        body: z.strictObject({
          grant_type: z.literal('client_credentials'),
          scope: z.string().refine((scope) => scope === known.scope),
        }),
      }),
      bars: ({ headers }) =>
        headers.authorization === `Basic ${btoa('client:secret')}` ? null : [401, { error: 'invalid_client' }],
      refuses: () => [400, { error: 'invalid_request' }],
      answers: () => issue(known),
    }),
  ];
}
