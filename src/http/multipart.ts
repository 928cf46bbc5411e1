import { DomainError, PayloadTooLarge, ValidationFailed } from '../core/errors.ts';

/** The bytes of a file in a form as they arrive; `whole` rejects for errors behind it. Throws DomainError. */
export async function* piecesOf(file: AsyncIterable<Buffer>, whole = Promise.resolve()): AsyncGenerator<Buffer> {
  try {
    yield* file;
    await whole;
  } catch (error) {
    throw tornForm(error);
  }
}

export function tornForm(cause: unknown): DomainError {
  if (cause instanceof DomainError) return cause;
  const { message, status, expose } = cause as { message: string; status?: number; expose?: boolean };
  // Only messages of GraphQL's upload parser are for callers.
  const text = expose && status !== 500 ? message : 'The multipart form is torn or cut off.';
  return Object.assign(status === 413 ? new PayloadTooLarge(text) : new ValidationFailed([], text), { cause });
}
