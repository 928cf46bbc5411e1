/** The types of events that webhooks are sent, in words. */
export const eventTypes = {
  'fleet.created': 'Fleets created',
  'fleet.updated': 'Fleets changed',
  'fleet.deleted': 'Fleets deleted',
  'vehicle.added': 'Vehicles added',
  'vehicle.moved': 'Vehicles moved',
  'vehicle.removed': 'Vehicles deleted',
  'eligibility.changed': 'Eligibility changed',
  'import.completed': 'Files imported',
  'contract.created': 'Contracts created',
  'contract.deleted': 'Contracts deleted',
  'contract.started': 'Contracts in force',
  'contract.ended': 'Contracts ended',
};
