import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../graphql/schema/schema.ts';

/** Where the schema is kept for readers, linters and code generators. */
export const schemaFile = new URL('../../schema.graphql', import.meta.url);

/** The schema in GraphQL's own language, sorted, so that a change shows as what it is. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;

if (import.meta.main) writeFileSync(schemaFile, printedSchema());
