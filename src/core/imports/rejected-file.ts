import { FileRejection } from '../../vin-files/index.ts';
import { ColumnNotFound, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from '../errors.ts';

/** What callers are told of a file that is rejected as a whole; any other error is as it was. */
export function asDomainError(error: unknown): unknown {
  if (!(error instanceof FileRejection)) return error;
  const { code, message, details } = error;
  if (code === 'FILE_TOO_LARGE') return new PayloadTooLarge(message);
  if (code === 'NOT_A_TABLE') return new UnsupportedMediaType(message);
  if (code === 'COLUMN_NOT_FOUND') return new ColumnNotFound(message, details);
  return new ValidationFailed([{ path: '', code, message }], message, details);
}
