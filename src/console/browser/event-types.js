/** The types of events that webhooks are sent, in words. */
export const eventTypes = {
  FLEET_CREATED: 'Fleets created',
  FLEET_UPDATED: 'Fleets changed',
  FLEET_DELETED: 'Fleets deleted',
  VEHICLE_ADDED: 'Vehicles added',
  VEHICLE_MOVED: 'Vehicles moved',
  VEHICLE_REMOVED: 'Vehicles deleted',
  ELIGIBILITY_CHANGED: 'Eligibility changed',
  IMPORT_COMPLETED: 'Files imported',
  CONTRACT_CREATED: 'Contracts created',
  CONTRACT_DELETED: 'Contracts deleted',
  CONTRACT_STARTED: 'Contracts in force',
  CONTRACT_ENDED: 'Contracts ended',
};
