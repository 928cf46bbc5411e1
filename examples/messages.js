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

/** The bearer token; a real application gets it from its sign-in. */
export const authorization = `Bearer ${import.meta.env.VITE_TOKEN}`;
