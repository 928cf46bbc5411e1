import type { StandardSchemaV1 } from '@pothos/plugin-validation';
import type { z } from 'zod';
import { ValidationFailed } from '../../core/errors.ts';
import { inputErrorsOf } from '../../core/input.ts';

/**
 * Lets Pothos judge an argument by the very schema core reads it with, so that both interfaces reject the same values with the
 * same codes and paths. The value goes on as it came: core reads it for good, and what its schema makes of it
 * (a Date of a text) could not be read a second time.
 */
export const judgedBy = <Schema extends z.ZodType>(schema: Schema): StandardSchemaV1<unknown, unknown> => ({
  '~standard': {
    version: 1,
    vendor: 'zod',
    validate(value) {
      const { error } = schema.safeParse(value);
      return error ? { issues: error.issues } : { value };
    },
  },
});

/** The error for what judgedBy found. Paths begin inside `input`, as they begin inside the body of a REST call. */
export function validationFailure({ issues }: StandardSchemaV1.FailureResult): ValidationFailed {
  return new ValidationFailed(
    // All our schemas are zod's, and the plugin keeps their issues but for the path.
    (issues as readonly z.core.$ZodIssue[]).flatMap(inputErrorsOf).map((error) => ({
      ...error,
      path: error.path.replace(/^input\.?/, ''),
    })),
  );
}
