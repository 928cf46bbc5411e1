import { z } from 'zod';

const names = z.array(z.string()).catch([]);
const noProblem = { type: '', vins: [], services: [], validationErrors: [] };
export const problem = z
  .object({
    type: z.string().catch(''),
    vins: names,
    services: names,
    validationErrors: z.array(z.object({ field: z.string().catch('') })).catch([]),
  })
  .catch(noProblem);
export const BLACKLISTED = '/vehicle/blacklist';
export const VEHICLE_UNKNOWN = '/vehicle/not-found';
export const SERVICE_UNKNOWN = '/services/not-found';
export const NO_PERMISSION = '/vehicles/services/no-permission';

/** Whether a fault names a VIN: the customer can mend no other fault of a request. */
export const namesVin = ({ validationErrors }: Pick<z.output<typeof problem>, 'validationErrors'>): boolean =>
  validationErrors.some(({ field }) => /(^|\.)vin$/.test(field));
