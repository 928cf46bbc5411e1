import { reason } from './provider.ts';

export const vinRefused = reason(
  'VIN_REFUSED',
  'Mercedes-Benz does not accept this VIN. Check it against the vehicle’s papers.',
);
export const blacklisted = reason('VEHICLE_BLACKLISTED', 'Mercedes-Benz has this vehicle on its blacklist.');
export const notOffered = reason(
  'PACK_NOT_OFFERED',
  'Mercedes-Benz does not know a service of this pack, or does not offer it to this account.',
);
export const rejected = reason(
  'ACTIVATION_REJECTED',
  'Mercedes-Benz could not activate the service in the vehicle, and gave no reason.',
);
export const noService = reason('NO_SERVICE_AVAILABLE', 'Mercedes-Benz does not offer this service for this vehicle.');
export const licenceExpired = reason(
  'LICENCE_EXPIRED',
  'The licence of this service has expired. It can be extended in the Mercedes me B2B shop.',
);
export const notSettled = reason(
  'PROVIDER_ENROLMENT_PENDING',
  'The vehicle was added to the Mercedes-Benz account and is not known there yet.',
);
