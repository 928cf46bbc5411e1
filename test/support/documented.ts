import { z } from 'zod';
import { type Clearance, clearanceServer } from '../../src/manufacturers/clearance-server.ts';
import { type Answer, empty, type Operation, operation } from '../../src/manufacturers/operations.ts';
import { hasToken, issue, type Known } from './documented-known.ts';
import { mercedes } from './documented-mercedes.ts';

// High Mobility's and Mercedes-Benz's operations, as their published documents have them (test/support/published.ts).

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

/** A list of clearances that shows each as it was some time ago; none, where it was not there yet. */
const lagging = (list: Operation, known: Known): Operation => ({
  ...list,
  async answer(...asked): Promise<Answer> {
    const [status, body] = await list.answer(...asked);
    if (status !== 200) return [status, body];
    const as = (one: Clearance): Clearance[] => {
      const lag = known.lagsMs(one.vin);
      if (lag === 0) return [one];
      const changelog = one.changelog.filter(({ timestamp }) => Date.parse(`${timestamp}Z`) <= known.clock() - lag);
      const last = changelog.at(-1);
      return last ? [{ ...one, changelog, status: last.status }] : [];
    };
    return [200, (body as Clearance[]).flatMap(as)];
  },
});

/** All operations, and the clearance of a VIN as it is by now. */
export function documentedOperations(known: Known) {
  const clearances = clearanceServer({
    allows: (asked) => hasToken(known, asked),
    decide: (vin) => known.decide(vin),
    endsAfterMs: () => known.endsAfterMs,
    clock: () => known.clock(),
  });
  const own = clearances.operations.map((one) => (one.name === 'clearance-list' ? lagging(one, known) : one));
  const operations: Operation[] = [...highMobility(known), ...own, ...mercedes(known)];
  return { operations, clearanceOf: clearances.find };
}
