import { codes, counted, list, locale, t } from './languages/language.js';

/** Statuses in the order of their parts in a bar, with their names in EligibilitySummary. */
export const statuses = [
  { status: 'ELIGIBLE', count: 'eligible', name: t('Eligible') },
  { status: 'PENDING', count: 'pending', name: t('Pending') },
  { status: 'INELIGIBLE', count: 'ineligible', name: t('Not eligible') },
  { status: 'UNSUPPORTED', count: 'unsupported', name: t('Unsupported') },
  { status: 'FAILED', count: 'failed', name: t('Failed') },
];

/** The counts of a summary, such as “3 eligible, 1 pending”. */
export const summarised = (summary) =>
  statuses
    .filter((one) => summary[one.count] > 0)
    .map((one) => counted(summary[one.count], one.count))
    .join(', ');

export const statusNames = Object.fromEntries(statuses.map(({ status, name }) => [status, name]));
export const aVin = /^(?=.*\d)[A-HJ-NPR-Z\d]{17}$/i;
/** The fewest characters that are looked for in VINs. */
export const FEWEST = 2;
export const tooFew = t('Enter at least two characters.');
/** What is typed as a VIN or its start or end, unless it is too short. */
export const vinPart = (typed) => typed?.length >= FEWEST && typed;

/** A value of an address if these words have it, whatever else people or old links have there. */
export const known = (words, value) => (Object.hasOwn(words, value ?? '') ? value : '');

export const contractStates = { ACTIVE: t('In force'), SCHEDULED: t('Scheduled'), ENDED: t('Ended') };
const decided = { ACTIVE: t('Active'), REJECTED: t('Rejected'), FAILED: t('Failed'), UNSUPPORTED: t('Unsupported') };
const others = { PENDING: t('Pending'), ENDING: t('Ending'), OFF: t('Not sent') };
export const activationStates = { ...contractStates, ...decided, ...others };

export const turns = {
  CUSTOMER: t('Up to you'),
  MANUFACTURER: t('Up to the manufacturer'),
  OPERATOR: t('Up to the operator'),
  DRIVER: t('Up to the driver'),
};

/** What providers do for the gateway. */
export const serviceNames = {
  ELIGIBILITY: t('Eligibility checks'),
  CLEARANCES: t('Clearances'),
  ORDERS: t('Orders of services'),
};

const megabytes = new Intl.NumberFormat(locale, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 2 });
export const bytes = (value) => megabytes.format(value / 1e6);

/** The vehicles that need attention, by who can act and by reason. */
export const attentionFilter = (/** @type {any} */ { actor, reason }) => ({
  eligibility: ['FAILED', 'INELIGIBLE', 'UNSUPPORTED'],
  ...(known(turns, actor) && { actor }),
  ...(known(codes, reason) && { reasonCode: reason }),
});

/** What is said when manufacturers are asked again about so many vehicles or contracts. */
export const asking = (number) =>
  number === 1 ? t('Checking with the manufacturer again.') : t('Checking with the manufacturers again.');

const NAMED = 5;
/** The first of these names, and the number of the others. */
export const someOf = (names) =>
  list.format([
    ...names.slice(0, NAMED),
    ...(names.length > NAMED ? [t('{count} more', { count: names.length - NAMED })] : []),
  ]);

export const byCreation = { '': t('Oldest first'), '-CREATED_AT': t('Newest first') };

/** The types of events, in words. */
export const eventTypes = {
  FLEET_CREATED: t('Fleets created'),
  FLEET_UPDATED: t('Fleets changed'),
  FLEET_DELETED: t('Fleets deleted'),
  VEHICLE_ADDED: t('Vehicles added'),
  VEHICLE_MOVED: t('Vehicles moved'),
  VEHICLE_REMOVED: t('Vehicles deleted'),
  ELIGIBILITY_CHANGED: t('Eligibility changed'),
  IMPORT_COMPLETED: t('Files imported'),
  CONTRACT_CREATED: t('Contracts created'),
  CONTRACT_UPDATED: t('Contracts changed'),
  CONTRACT_DELETED: t('Contracts deleted'),
  CONTRACT_STARTED: t('Contracts started'),
  CONTRACT_ENDED: t('Contracts ended'),
  CONTRACT_ACTIVATED: t('Contracts activated by manufacturers'),
  CONTRACT_REJECTED: t('Contracts rejected by manufacturers'),
  CONTRACT_DEACTIVATED: t('Contracts ended at manufacturers'),
  CONTRACT_FAILED: t('Contracts failed at manufacturers'),
};
