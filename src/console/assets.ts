import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Assets, assetsOf } from '../http/assets.ts';

/** The libraries by the names that modules import them by. */
const libraries = ['preact', 'preact/hooks', '@preact/signals-core', '@preact/signals', 'htm', 'oauth4webapi'];
/** What no first visit asks for, or one of: the library for signing in with an identity provider, and the languages. */
export const isLater = (path: string) => path === 'lib/oauth4webapi.js' || /^languages\/..\.js$/.test(path);
const folder = new URL('browser/', import.meta.url);

/** What the console is made of. */
export interface ConsoleAssets extends Assets {
  /** The path of each library, by its name. */
  libraries: Readonly<Record<string, string>>;
}

/** Reads all files once; nobody who takes them slowly keeps the disk busy. */
export async function loadAssets(): Promise<ConsoleAssets> {
  const all = await readdir(folder, { recursive: true });
  const own = all.filter((name) => ['.js', '.css', '.svg'].includes(extname(name))).sort();
  const pathOf = (name: string) => `lib/${name.replace('@', '').replaceAll('/', '-')}.js`;
  const places = [
    ...own.map((name) => [name, new URL(name, folder)] as const),
    ...libraries.map((name) => [pathOf(name), new URL(import.meta.resolve(name))] as const),
  ];
  const files = await Promise.all(
    places.map(async ([path, url]) => [path, await readFile(fileURLToPath(url))] as const),
  );
  return { ...assetsOf(files), libraries: Object.fromEntries(libraries.map((name) => [name, pathOf(name)])) };
}
