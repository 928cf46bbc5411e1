/**
 * The records of a report of refused rows, each a list of cells; its separator stands before the column `error_code`. The text
 * may be cut off: a last line that does not end is left out.
 */
export function recordsOf(text) {
  const [, separator = ','] = /(.)error_code/.exec(text) ?? [];
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))([${separator}]|\\r?\\n)`, 'y');
  const records = [];
  let record = [];
  for (let found = cell.exec(text); found; found = cell.exec(text)) {
    const [, quoted, plain, end] = found;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === separator) continue;
    records.push(record);
    record = [];
  }
  return records;
}
