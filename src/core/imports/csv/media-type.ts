/** Labels under which CSV text and workbooks arrive; spreadsheets call CSV application/vnd.ms-excel, scripts say nothing. */
const LABELS =
  /^(?:text\/(?!html$|xml$)[^/]+|application\/(?:csv|x-csv|vnd\.ms-excel(?:\.sheet\.macroenabled\.12)?|vnd\.openxmlformats-officedocument\.spreadsheetml\.(?:sheet|template)|zip|x-zip-compressed|octet-stream))?$/;

/** Whether a file part of this media type is worth reading; what the content is, readTable judges. False is a 415. */
export function mayBeTable(mimeType: string): boolean {
  const [label = ''] = mimeType.split(';');
  return LABELS.test(label.trim().toLowerCase());
}

/** What to say of a file with another label. */
export const noTable = (mimeType: string): string =>
  `The file is labelled ${mimeType}; send CSV text or an Excel workbook (.xlsx).`;
