import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The manifest of Relay's compiler and of graphql-codegen's client preset: texts by hash or id. */
const texts = z.record(z.string(), z.string());
/** The manifest of Apollo's generate-persisted-query-manifest. */
const apollo = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.literal(1),
  operations: z.array(z.object({ id: z.string(), body: z.string() })),
});
const manifest = z.union([
  apollo.transform(({ operations }) => operations.map(({ id, body }): [string, string] => [id, body])),
  texts.transform((byId) => Object.entries(byId)),
]);

/** The path of a manifest becomes the texts of its documents by their ids. */
export const trustedDocuments = z.string().transform((path, context): ReadonlyMap<string, string> => {
  try {
    return new Map(manifest.parse(JSON.parse(readFileSync(path, 'utf8'))));
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? 'is neither a manifest of Apollo nor an object with texts by their ids'
        : (error as Error).message;
    context.addIssue(`must be the path of a manifest (${why})`);
    return z.NEVER;
  }
});
