import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TextPage } from '../../src/core/sql/read.ts';
import { listAnswer } from '../../src/rest/list.ts';
import type { RestRequest } from '../../src/rest/route.ts';

test('a whole list is JSON, whatever is left on later pages when they are read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }), async (sizes) => {
      const pages = [2, ...sizes].map((size, at, { length }): TextPage => {
        const items = Array.from({ length: size }, (_, item) => at * 10 + item);
        const last = size > 0 ? { id: `${at}`, text: null } : null;
        return { text: JSON.stringify(items), last, hasNext: size > 0 && at < length - 1 };
      });
      let reads = 0;
      const { stream } = await listAnswer({ path: '/x', query: {} } as unknown as RestRequest, async () => {
        const page = pages[reads++];
        if (!page) throw new Error('there is no such page');
        return page;
      });
      const written = (await Array.fromAsync(stream?.pieces ?? [])).join('');
      expect(JSON.parse(written)).toEqual(pages.slice(0, reads).flatMap(({ text }) => JSON.parse(text)));
    }),
    { numRuns: 50, examples: [[[0]]] },
  );
});
