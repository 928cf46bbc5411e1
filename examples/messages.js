/** Sentences for users by the error's code. Codes never change; messages may. */
const messages = {
  UNAUTHENTICATED: 'Please sign in again.',
  FORBIDDEN: 'You may not do this.',
  UNSUPPORTED_MEDIA_TYPE: 'This file is neither a CSV file nor an Excel workbook.',
  PAYLOAD_TOO_LARGE: 'This file is too large.',
  RATE_LIMITED: 'Too many requests. Please wait a moment.',
};

/** A sentence for the first of an answer's errors. */
export function messageOf(errors) {
  const [{ message, extensions }] = errors;
  return messages[extensions?.code] ?? `${message} (${extensions?.code})`;
}

/** Sentences by ReasonCode about unusable vehicles. Other codes, also new ones, show the gateway's message. */
const reasons = {
  NOT_ELIGIBLE: 'This vehicle cannot send data.',
  CONNECTIVITY_DEACTIVATED: 'Ask its driver to activate connected services.',
  VIN_REFUSED: 'Please check the VIN.',
};

export const reasonOf = ({ code, message }) => reasons[code] ?? message;

/** Sentences by EventType; the data of each type is a member of the union EventData. */
const sentences = {
  FLEET_CREATED: ({ data }) => `${data.name} was created`,
  VEHICLE_ADDED: ({ vehicleCount }) => `Vehicles added: ${vehicleCount}`,
  ELIGIBILITY_CHANGED: ({ vehicleCount, data }) => `Vehicles now ${data.toStatus}: ${vehicleCount}`,
  IMPORT_COMPLETED: ({ data }) => `File stored: ${data.created} added, ${data.rejected} rejected`,
};

/** A sentence about an event; new types, which the gateway may add at any time, show their name. */
export const sentenceOf = (event) => sentences[event.type]?.(event) ?? event.type;

/** The filter of vehicles that cannot be used: a VehicleFilter. */
export const unusable = { eligibility: ['INELIGIBLE', 'UNSUPPORTED', 'FAILED'] };

/** The bearer token; a real application gets it from its sign-in. */
export const authorization = `Bearer ${import.meta.env.VITE_TOKEN}`;
