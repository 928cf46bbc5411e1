import { expect } from 'vitest';
import type { Client, Json } from './client.ts';
import { startExplained } from './explained.ts';
import { pagesRead } from './plans.ts';

/** Rows of a list that is asked for page by page, and of a page that it does not fill. */
export const FEW = 7;
const UNFILLED = 100;
/** Pages of tables and indexes for each row of the answer: of its table, of its fleet, and of what it refers to. */
export const PER_ROW = 12;

/** Arguments of pages that are filled, and that are not, from both ends and from and to cursors, if there are any. */
const pagesOf = ([, second, third, , fifth, sixth]: readonly string[]): string[] =>
  [
    ...[3, UNFILLED].flatMap((size) => [{ first: size }, { last: size }]),
    { first: UNFILLED, after: third },
    { last: UNFILLED, before: fifth },
    { first: UNFILLED, before: fifth },
    { first: UNFILLED, after: second, before: sixth },
    { last: UNFILLED, after: second, before: sixth },
  ].map((page) =>
    Object.entries(page)
      .flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${JSON.stringify(value)}`))
      .join(', '),
  );

/** Starts a gateway that tells how many pages of tables and indexes PostgreSQL reads for a query. */
export async function startPageReads() {
  const { gateway, seen } = await startExplained({ LIMIT_GRAPHQL_COST: '1000000' });

  /** The answer to a query, the cursors in it, and the pages that were read for it. */
  async function ask(client: Client, query: string): Promise<{ data: Json; cursors: string[]; pages: number }> {
    seen.length = 0;
    const { body } = await client.post('/graphql', { query });
    expect(body.errors, query).toBeUndefined();
    const found = JSON.stringify(body.data).matchAll(/"cursor":"([^"]+)"/g);
    const cursors = [...found].map(([, cursor]) => cursor ?? '');
    return { data: body.data, cursors, pages: pagesRead(seen.map(({ Plan }) => Plan)) };
  }

  /** Pages of a list for which PostgreSQL read more than `beside` and PER_ROW; `queryOf` gives the query of a page. */
  async function excesses(client: Client, queryOf: (page: string) => string, beside: number) {
    const { cursors } = await ask(client, queryOf(`first: ${FEW}`));
    const found: Record<string, string> = {};
    for (const page of pagesOf(cursors)) {
      const { cursors: rows, pages } = await ask(client, queryOf(page));
      if (pages > beside + PER_ROW * rows.length) found[page] = `${pages} pages for ${rows.length} rows`;
    }
    return found;
  }
  return { gateway, ask, excesses };
}
