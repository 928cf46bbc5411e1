const BOUNDARY = 'part';

/** The content type of a form that a test writes byte by byte; FormData makes no torn or unordered form. */
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
export const END = `--${BOUNDARY}--\r\n`;

/** A part with these header lines, which may be invalid. */
export const part = (head: string, body: string): string => `--${BOUNDARY}\r\n${head}\r\n\r\n${body}\r\n`;
export const field = (name: string, value: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
export const file = (content: string, name = 'vins', type = 'text/csv'): string =>
  part(`Content-Disposition: form-data; name="${name}"; filename="vins.csv"\r\nContent-Type: ${type}`, content);
