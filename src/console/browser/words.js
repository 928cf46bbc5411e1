import { counted, locale, t } from './languages/language.js';
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

/** The type of an event in webhooks. */
export const wireType = (type) => type.toLowerCase().replace('_', '.');

export const turns = {
  CUSTOMER: t('Your turn'),
  MANUFACTURER: t('Manufacturer’s turn'),
  OPERATOR: t('Operator’s turn'),
};

/** Sentences for error codes; other errors keep the gateway's message. */
const errors = {
  UNREACHABLE: t('The gateway does not answer. Check your connection; this page tries again by itself.'),
  UNAUTHENTICATED: t('The token is not valid, or no longer. Sign in with another one.'),
  FORBIDDEN: t('This token may not do that. Ask whoever issues your tokens for the missing right.'),
  RATE_LIMITED: t('Too much at once. Wait a moment and try again.'),
  UNSUPPORTED_MEDIA_TYPE: t('This file is no list of vehicles that can be read.'),
  IDEMPOTENCY_IN_PROGRESS: t('The same request is still under way.'),
  INTERNAL: t('Something went wrong in the gateway. Try again; its log knows more.'),
  UNAVAILABLE: t('The gateway cannot work at the moment. Try again soon.'),
};

export const explain = ({ code, message }) => errors[code] ?? message;

const megabytes = new Intl.NumberFormat(locale, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 2 });
export const bytes = (value) => megabytes.format(value / 1e6);

export const byCreation = { '': t('Oldest first'), '-CREATED_AT': t('Newest first') };

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
  CONTRACT_DELETED: t('Contracts deleted'),
  CONTRACT_STARTED: t('Contracts in force'),
  CONTRACT_ENDED: t('Contracts ended'),
  CONTRACT_ACTIVATED: t('Contracts activated by manufacturers'),
  CONTRACT_REJECTED: t('Contracts rejected by manufacturers'),
  CONTRACT_DEACTIVATED: t('Contracts ended at manufacturers'),
};
