import { reason } from './provider.ts';

export const reasons = {
  vinRefused: reason('VIN_REFUSED', 'Mercedes-Benz does not accept this VIN. Check it against the vehicle’s papers.'),
  blacklisted: reason('VEHICLE_BLACKLISTED', 'Mercedes-Benz has this vehicle on its blacklist.'),
  notOffered: reason(
    'PACK_NOT_OFFERED',
    'Mercedes-Benz does not know a service of this pack, or does not offer it to this account.',
  ),
  rejected: reason(
    'ACTIVATION_REJECTED',
    'Mercedes-Benz could not activate the service in the vehicle, and gave no reason.',
  ),
  noService: reason('NO_SERVICE_AVAILABLE', 'Mercedes-Benz does not offer this service for this vehicle.'),
  licenceExpired: reason(
    'LICENCE_EXPIRED',
    'The licence of this service has expired. It can be extended in the Mercedes me B2B shop.',
  ),
  notSettled: reason(
    'PROVIDER_ENROLMENT_PENDING',
    'The vehicle was added to the Mercedes-Benz account and is not known there yet.',
  ),
};
