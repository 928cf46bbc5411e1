export { type CsvDelimiter, mayBeTableFile, notTableMessage } from './csv/head.ts';
export { type CsvLayout, numberedColumnNames } from './csv/layout.ts';
export { limitPieces, usualLimits } from './csv/limits.ts';
export { FileThread, type ThreadFile } from './file-thread.ts';
export { FileRejection, fileErrorCodes } from './rejection.ts';
export { type CsvRow, openVinCsv, openVinFile, type TableLayout, WORKBOOK_START } from './table.ts';
export {
  isPartOfVin,
  isWholeVin,
  normalizeVinPart,
  readVin,
  type Vin,
  type VinError,
  vinErrorCodes,
  vinOrNull,
  vinWarnings,
  vinWarningsText,
} from './vin.ts';
