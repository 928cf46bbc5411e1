/** The sentences are those of the modules. */
export const sentences = {};

/** Things that are counted, by the plural forms of the language. */
export const numbers = {
  answer: { one: '{count} answer', other: '{count} answers' },
  attempt: { one: '{count} attempt', other: '{count} attempts' },
  contract: { one: '{count} contract', other: '{count} contracts' },
  delivery: { one: '{count} delivery', other: '{count} deliveries' },
  eligible: { one: '{count} eligible', other: '{count} eligible' },
  event: { one: '{count} event', other: '{count} events' },
  failed: { one: '{count} failed', other: '{count} failed' },
  fleet: { one: '{count} fleet', other: '{count} fleets' },
  ineligible: { one: '{count} not eligible', other: '{count} not eligible' },
  pending: { one: '{count} pending', other: '{count} pending' },
  row: { one: '{count} row', other: '{count} rows' },
  'type of event': { one: '{count} type of event', other: '{count} types of events' },
  unsupported: { one: '{count} unsupported', other: '{count} unsupported' },
  vehicle: { one: '{count} vehicle', other: '{count} vehicles' },
  VIN: { one: '{count} VIN', other: '{count} VINs' },
};
