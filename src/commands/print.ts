import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { graphqlSchema } from '../graphql/schema/schema.ts';
import { openApiDocument } from '../rest/openapi/openapi-document.ts';
import { readOptions, runCommand } from './command.ts';

export const schemaFile = new URL('../../schema.graphql', import.meta.url);
export const openApiFile = new URL('../../docs/openapi.json', import.meta.url);

/** The schema in GraphQL's own language, sorted, so that a change shows as what it is. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(graphqlSchema))}\n`;
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;

const usage = 'Usage: npm run schema, npm run openapi\nThey write schema.graphql and docs/openapi.json.';
if (import.meta.main) {
  await runCommand({ usage }, async ([what, ...args]) => {
    readOptions(args, {}, usage);
    if (what === 'schema') writeFileSync(schemaFile, printedSchema());
    else writeFileSync(openApiFile, openApiText());
    return 0;
  });
}
