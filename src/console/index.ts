import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The libraries by their import specifiers. */
const libraries = ['preact', 'preact/hooks', '@preact/signals-core', '@preact/signals', 'htm', 'oauth4webapi'];
const folder = new URL('browser/', import.meta.url);
const FIRST = ['app.js', 'overview.js'];

export interface ConsoleFiles {
  files: readonly (readonly [path: string, content: Buffer])[];
  /** The path of each library by its name, for an import map. */
  libraries: Readonly<Record<string, string>>;
  /** The modules that every first visit loads. */
  first: readonly string[];
}

/** Reads all files of the console, which are served as they are; the style sheets become one. */
export async function loadConsole(): Promise<ConsoleFiles> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const read = (url: URL) => readFile(fileURLToPath(url));
  const own = (...types: string[]) => names.filter((name) => types.includes(extname(name)));
  const pathOf = (name: string) => `lib/${name.replace('@', '').replaceAll('/', '-')}.js`;
  const places = [
    ...own('.js', '.svg').map((name) => [name, new URL(name, folder)] as const),
    ...own('.json')
      .filter((name) => name.startsWith('languages'))
      .map((name) => [name, new URL(name, folder)] as const),
    ...libraries.map((name) => [pathOf(name), new URL(import.meta.resolve(name))] as const),
  ];
  const files = await Promise.all(places.map(async ([path, url]) => [path, await read(url)] as const));
  const styles = Buffer.concat(await Promise.all(own('.css').map((name) => read(new URL(name, folder)))));
  const paths = Object.fromEntries(libraries.map((name) => [name, pathOf(name)]));
  return {
    files: [...files, ['console.css', styles]],
    libraries: paths,
    first: importedBy(FIRST, new Map(files), paths),
  };
}

/** These modules and all that they import when they load. */
function importedBy(modules: readonly string[], files: ReadonlyMap<string, Buffer>, paths: Record<string, string>) {
  const found = new Set(modules);
  for (const path of found) {
    for (const [, name = ''] of String(files.get(path)).matchAll(/\bfrom ?['"]([^'"]+)['"]/g)) {
      const imported = paths[name] ?? new URL(name, new URL(path, 'file:///')).pathname.slice(1);
      if (files.has(imported)) found.add(imported);
    }
  }
  return [...found];
}
