/** Each status in the order of its part in a bar, with its name in EligibilitySummary. */
export const statuses = [
  { status: 'ELIGIBLE', count: 'eligible', name: 'Eligible' },
  { status: 'PENDING', count: 'pending', name: 'Pending' },
  { status: 'INELIGIBLE', count: 'ineligible', name: 'Not eligible' },
  { status: 'UNSUPPORTED', count: 'unsupported', name: 'Unsupported' },
  { status: 'FAILED', count: 'failed', name: 'Failed' },
];

/** The numbers of a summary, such as “3 eligible, 1 pending”. */
export const summarised = (summary) =>
  statuses
    .filter((one) => summary[one.count] > 0)
    .map((one) => `${count(summary[one.count])} ${one.name.toLowerCase()}`)
    .join(', ');

export const statusNames = Object.fromEntries(statuses.map(({ status, name }) => [status, name]));

/** The type of an event as receivers of webhooks know it. */
export const wireType = (type) => type.toLowerCase().replace('_', '.');

/** Whose turn it is. */
export const turns = {
  CUSTOMER: 'Your turn',
  MANUFACTURER: 'Manufacturer’s turn',
  OPERATOR: 'Operator’s turn',
};

/** Sentences for error codes; other errors keep the gateway's message. */
const errors = {
  UNREACHABLE: 'The gateway does not answer. Check your connection; this page tries again by itself.',
  UNAUTHENTICATED: 'The token is not valid, or no longer. Sign in with another one.',
  FORBIDDEN: 'This token may not do that. Ask whoever issues your tokens for the missing right.',
  RATE_LIMITED: 'Too much at once. Wait a moment and try again.',
  UNSUPPORTED_MEDIA_TYPE: 'This file is no list of vehicles that can be read.',
  IDEMPOTENCY_IN_PROGRESS: 'The same request is still under way.',
  INTERNAL: 'Something went wrong in the gateway. Try again; its log knows more.',
  UNAVAILABLE: 'The gateway cannot work at the moment. Try again soon.',
};

export const explain = ({ code, message }) => errors[code] ?? message;

const number = new Intl.NumberFormat('en');
export const count = (value) => number.format(value);
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

const megabytes = new Intl.NumberFormat('en', { style: 'unit', unit: 'megabyte', maximumFractionDigits: 2 });
export const bytes = (value) => megabytes.format(value / 1e6);
