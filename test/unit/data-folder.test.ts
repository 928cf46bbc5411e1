import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-folder-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'file');
writeFileSync(file, '');
const closed = join(folder, 'closed');
mkdirSync(closed);
chmodSync(closed, 0);
const inside = (name: string, make: (path: string) => void) => {
  const data = join(folder, `with ${name}`);
  mkdirSync(data);
  make(join(data, name));
  return data;
};
/** Root may write every folder. */
const isRoot = process.getuid?.() === 0;

const unusable: Record<string, string> = {
  'a file': file,
  'a folder in a file': join(file, 'data'),
  ...(!isRoot && { 'a folder without rights': closed, 'a folder in one without rights': join(closed, 'data') }),
  // Node's own recursive mkdir never ends here.
  ...(existsSync('/proc/self') && { 'a folder in one that takes none': '/proc/none/data' }),
};

describe.each(Object.entries(unusable))('a DATA_DIR that is %s', (_, DATA_DIR) => {
  test.each([
    ['database', openDatabase],
    ['identity', openAuthenticator],
  ])('is named by the %s', async (_, open: (config: ReturnType<typeof readConfig>) => Promise<unknown>) => {
    const failure = await open(readConfig({ DATA_DIR })).catch((error: Error) => error);
    const sentence = expect.stringMatching(/^DATA_DIR .* cannot be used: E\w+: .*\.$/);
    expect(failure).toMatchObject({ name: 'StartError', message: sentence });
    expect(String(failure)).toContain(DATA_DIR);
  });
});

test.each([
  ['a file for the database', 'pglite', (path: string) => writeFileSync(path, '')],
  ['a folder for the lock', 'pglite.lock', (path: string) => mkdirSync(path)],
])('a DATA_DIR that has %s is named', async (_, name, make) => {
  const DATA_DIR = inside(name, make);
  await expect(openDatabase(readConfig({ DATA_DIR }))).rejects.toThrow(/^DATA_DIR .* cannot be used: .*\.$/);
});
