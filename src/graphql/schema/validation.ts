import type { StandardSchemaV1 } from '@pothos/plugin-validation';
import type { z } from 'zod';
import { ValidationFailed } from '../../core/errors.ts';
import { inputErrorsOf } from '../../core/input.ts';

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
