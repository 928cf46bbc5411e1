import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Assets, assetsOf } from '../http/assets.ts';

/** The libraries by their import specifiers. */
const libraries = ['preact', 'preact/hooks', '@preact/signals-core', '@preact/signals', 'htm', 'oauth4webapi'];
/** Files that not every first visit loads: the library for signing in with an identity provider, and the languages. */
export const isLater = (path: string) => path === 'lib/oauth4webapi.js' || /^languages\/..\.js$/.test(path);
const folder = new URL('browser/', import.meta.url);

/** The files of the console, and the path of each library by its name. */
export type ConsoleAssets = Assets & { libraries: Readonly<Record<string, string>> };

/** Reads all files once into memory, so that slow clients cause no disk access. */
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
