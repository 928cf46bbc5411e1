/** Labels under which CSV text arrives; spreadsheets call it application/vnd.ms-excel, scripts say nothing. */
const LABELS = /^(?:text\/(?!html$|xml$)[^/]+|application\/(?:csv|x-csv|vnd\.ms-excel|octet-stream))?$/;

/** Whether a file part of this media type is worth reading; what the content is, readCsv judges. False is a 415. */
export function mayBeCsv(mimeType: string): boolean {
  const [label = ''] = mimeType.split(';');
  return LABELS.test(label.trim().toLowerCase());
}
