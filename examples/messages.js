/** What to say to people, by the error's code. Codes never change; messages may. */
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

/** Why a vehicle cannot be used, by the ReasonCode. Codes that are not here, or new, have the gateway's own sentence. */
const reasons = {
  NOT_ELIGIBLE: 'This vehicle cannot send data.',
  CONNECTIVITY_DEACTIVATED: 'Ask its driver to activate connected services.',
  VIN_REFUSED: 'Please check the VIN.',
};

export const reasonOf = ({ code, message }) => reasons[code] ?? message;

/** What happened, by the EventType; the data of each type is a member of the union EventData. */
const sentences = {
  FLEET_CREATED: ({ data }) => `${data.name} was created`,
  VEHICLE_ADDED: ({ vehicleCount }) => `Vehicles added: ${vehicleCount}`,
  ELIGIBILITY_CHANGED: ({ vehicleCount, data }) => `Vehicles now ${data.toStatus}: ${vehicleCount}`,
  IMPORT_COMPLETED: ({ data }) => `File stored: ${data.created} added, ${data.rejected} rejected`,
};

/** A sentence about an event. New types may come at any time. */
export const sentenceOf = (event) => sentences[event.type]?.(event) ?? event.type;

/** The filter of vehicles that cannot be used: a VehicleFilter. */
export const unusable = { eligibility: ['INELIGIBLE', 'UNSUPPORTED', 'FAILED'] };

/** The bearer token; a real application gets it from its sign-in. */
export const authorization = `Bearer ${import.meta.env.VITE_TOKEN}`;
