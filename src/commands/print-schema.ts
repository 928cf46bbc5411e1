import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { graphqlSchema } from '../graphql/schema/schema.ts';
import { readOptions, runCommand } from './command.ts';

export const schemaFile = new URL('../../schema.graphql', import.meta.url);

/** The schema in GraphQL's own language, sorted, so that a change shows as what it is. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(graphqlSchema))}\n`;

const usage = 'Usage: npm run schema\nWrites schema.graphql.';
if (import.meta.main) {
  await runCommand({ usage }, async (args) => {
    readOptions(args, {}, usage);
    writeFileSync(schemaFile, printedSchema());
    return 0;
  });
}
