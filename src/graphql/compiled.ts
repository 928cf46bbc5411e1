import { type DocumentNode, isLeafType, Kind, typeFromAST } from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { schema } from './schema.ts';

/** Compiling costs as much as a few executions: a query that comes once is not worth it. */
const WORTH_COMPILING = 3;

interface Query {
  uses: number;
  run: CompiledQuery['query'] | null;
}

/** Kept as long as readDocument keeps the document. */
const queries = new WeakMap<DocumentNode, Query>();

/** A function that executes this valid query, once it has come a few times; null when it is to be interpreted. */
export function compiled(document: DocumentNode): CompiledQuery['query'] | null {
  const query = queries.get(document) ?? { uses: 0, run: null };
  queries.set(document, query);
  query.uses += 1;
  if (query.uses === WORTH_COMPILING) query.run = compile(document);
  return query.run;
}

function compile(document: DocumentNode): Query['run'] {
  if (!isSimple(document)) return null;
  const query = compileQuery(schema, document);
  return isCompiledQuery(query) ? query.query : null;
}

/** graphql-jit reads variables by its own rules, which know no input objects with @oneOf: those are left to graphql-js. */
function isSimple({ definitions }: DocumentNode): boolean {
  const operations = definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION);
  const variables = operations.flatMap(({ variableDefinitions }) => variableDefinitions ?? []);
  return (
    operations.length === 1 &&
    variables.every(({ type }) => {
      const named = type.kind === Kind.NON_NULL_TYPE ? type.type : type;
      const known = named.kind === Kind.NAMED_TYPE ? typeFromAST(schema, named) : undefined;
      return known !== undefined && isLeafType(known);
    })
  );
}
