import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Answer, type Asked, empty, type Operation, operation } from '../../src/manufacturers/operations.ts';

// High Mobility's and Mercedes-Benz's operations, as their published documents have them (test/support/published.ts).

export type Endpoint = 'token' | 'eligibility' | 'compatibilities' | 'vehicles' | 'unknown';

/** What the servers know. */
export interface Known {
  tokens: Set<string>;
  tokenLifetime: number;
  /** VINs of the Connect Your Fleet account, and those that may not be in one. */
  account: Set<string>;
  blacklist: Set<string>;
}

const hasToken = (known: Known, { headers }: Asked): boolean =>
  known.tokens.has(headers.authorization?.replace(/^Bearer /, '') ?? '');

function issue({ tokens, tokenLifetime }: Known): Answer {
  const token = randomUUID();
  tokens.add(token);
  return [200, { access_token: token, expires_in: tokenLifetime, token_type: 'bearer' }];
}

const highMobility = (known: Known): Operation[] => {
  const errors = (title: string, source?: string, detail?: string) => ({ errors: [{ title, source, detail }] });
  return [
    operation({
      name: 'token',
      document: 'hm-oauth-rest-v1.yml',
      method: 'POST',
      path: '/v1/access_tokens',
      takes: z.strictObject({
        ...empty,
        body: z.strictObject({
          grant_type: z.literal('client_credentials'),
          client_id: z.literal('client'),
          client_secret: z.literal('secret'),
        }),
      }),
      refuses: ([first]) => [
        400,
        { error: 'invalid_request', error_description: `${String(first?.path[1])} is invalid` },
      ],
      answers: () => issue(known),
    }),
    operation({
      name: 'eligibility',
      document: 'hm-eligibility-v1.yml',
      method: 'POST',
      path: '/v1/eligibility',
      takes: z.strictObject({
        ...empty,
        body: z.strictObject({ vin: z.string().length(17), brand: z.enum(eligibilityBrands) }),
      }),
      bars: (asked) => (hasToken(known, asked) ? null : [401, errors('Not authorized', 'Authorization')]),
      refuses: ([first]) => [422, errors('invalid', first?.path[1]?.toString() ?? 'body', first?.message)],
      answers: ({ body: { vin } }) => [200, { vin, eligible: true, data_delivery: ['pull', 'push'] }],
    }),
  ];
};

const eligibilityBrands = [
  ...['mercedes-benz', 'ford', 'bmw', 'mini', 'citroen', 'peugeot', 'opel', 'vauxhall', 'ds', 'jeep', 'fiat'],
  ...['alfaromeo', 'renault', 'toyota', 'lexus', 'volvo-cars', 'sandbox'],
] as const;

const MOST_VEHICLES = 10_000;

const mercedes = (known: Known): Operation[] => {
  const document = 'mercedes-vehicle-management.yaml';
  const bars = (asked: Asked): Answer | null => (hasToken(known, asked) ? null : [401]);
  const vin = z.string().regex(/^[A-HJ-NPR-Z0-9]{13}\d{4}$/);
  const vehicles = z.array(z.strictObject({ vin }));
  const listed = vehicles.max(MOST_VEHICLES).refine((all) => new Set(all.map((one) => one.vin)).size === all.length);
  const problem = (statusCode: number, type: string, title: string, more: object): Answer => [
    statusCode,
    { type, title, statusCode, detail: title, instance: 'about:blank', ...more },
  ];
  /** Only a VIN that is one and breaks the pattern is a fault of the field `vin`. */
  const refuses = (issues: readonly z.core.$ZodIssue[]) =>
    problem(400, '/error/validation-error', 'Bad request', {
      validationErrors: issues.map(({ code, path, message }) => ({
        field: code === 'invalid_format' ? 'vin' : `request.${path.join('.')}`,
        message,
      })),
    });
  return [
    operation({
      name: 'vehicles',
      document,
      method: 'POST',
      path: '/v1/accounts/vehicles',
      takes: z.strictObject({ ...empty, body: listed }),
      bars,
      refuses,
      // All or nothing.
      answers: ({ body }) => {
        const vins = body.map((one) => one.vin).filter((one) => known.blacklist.has(one));
        if (vins.length > 0) return problem(403, '/vehicle/blacklist', 'Blacklisted vehicle(s) request', { vins });
        for (const one of body) known.account.add(one.vin);
        return [201];
      },
    }),
    operation({
      name: 'compatibilities',
      document,
      method: 'GET',
      path: '/v1/accounts/vehicles/:vin/compatibilities',
      takes: z.strictObject({ ...empty, params: z.strictObject({ vin }) }),
      bars,
      refuses,
      answers: ({ params }) => {
        if (!known.account.has(params.vin))
          return problem(404, '/vehicle/not-found', 'Vehicle not found', { vins: [params.vin] });
        const services = [{ serviceId: '1001', serviceName: 'Mileage', available: true }];
        const vehicleType = 'Battery Electric Vehicle';
        return [200, { vin: params.vin, vehicleProvidesConnectivity: true, vehicleType, services }];
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
        body: z.strictObject({ grant_type: z.literal('client_credentials'), scope: z.literal('openid') }),
      }),
      bars: ({ headers }) =>
        headers.authorization === `Basic ${btoa('client:secret')}` ? null : [401, { error: 'invalid_client' }],
      refuses: () => [400, { error: 'invalid_request' }],
      answers: () => issue(known),
    }),
  ];
};

export const documentedOperations = (known: Known): Operation[] => [...highMobility(known), ...mercedes(known)];
