import { DomainError, PayloadTooLarge, ValidationFailed } from '../core/errors.ts';

/** The bytes of a file in a form as they arrive; `whole` is of the rest of the form. Throws DomainError, at the end too. */
export async function* piecesOf(file: AsyncIterable<Buffer>, whole = Promise.resolve()): AsyncGenerator<Buffer> {
  try {
    yield* file;
    await whole;
  } catch (error) {
    throw tornForm(error);
  }
}

/** The error of a form that cannot be read. */
export function tornForm(cause: unknown): DomainError {
  if (cause instanceof DomainError) return cause;
  const { message, status, expose } = cause as { message: string; status?: number; expose?: boolean };
  // Messages of GraphQL's upload parser are meant for callers; those of the form's parser are not.
  const text = expose && status !== 500 ? message : 'The multipart form is torn or cut off.';
  return Object.assign(status === 413 ? new PayloadTooLarge(text) : new ValidationFailed([], text), { cause });
}
