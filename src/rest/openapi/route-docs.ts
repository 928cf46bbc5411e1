import type { z } from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import type { QueryParameter } from './parameters.ts';
import type { Tag } from './tags.ts';

/** The documentation of a route in openapi.json, beyond what follows from the route itself. */
export interface RouteDocs {
  /** Names the operation for good: generated clients call their function so. */
  operationId: string;
  tag: Tag;
  /** A few words, without a full stop. */
  summary: string;
  /** Whole sentences: what happens, and what a caller would not guess. */
  description: string;
  query?: readonly QueryParameter[];
  /** Whether what it shows or changes has an `ETag`, which `If-None-Match` or `If-Match` may name. */
  etag?: true;
  /** Whether `Prefer: wait=N` is heard. */
  prefer?: true;
  body?: BodyDocs;
  /** Answers by status, without errors. */
  answers: Readonly<Record<number, AnswerDocs>>;
  /** Errors of this operation; those of all operations of its kind are added. */
  errors?: readonly ErrorCode[];
}

/** `input` is the schema that core reads the body with. */
export interface BodyDocs {
  type?: 'application/json' | 'multipart/form-data';
  /** Media types of a body that is the file itself, with an example of what is text. */
  files?: Readonly<Record<string, string | null>>;
  input: z.ZodObject;
}

export interface AnswerDocs {
  description: string;
  /** Absent: the answer has no body. */
  schema?: z.ZodType;
  type?: 'application/json' | 'text/csv' | 'text/event-stream';
  /** Alternative forms of the body, by media type. */
  files?: Readonly<Record<string, z.ZodType>>;
  headers?: readonly AnswerHeader[];
}

type AnswerHeader = 'ETag' | 'Vary' | 'Link' | 'Location' | 'Preference-Applied' | 'Content-Disposition';
