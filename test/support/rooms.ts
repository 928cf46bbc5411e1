// Draws the rooms of src/ from its imports: `npx node test/support/rooms.ts` writes the picture into docs/architecture.md.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const src = join(import.meta.dirname, '../../src');

export interface Import {
  from: string;
  /** A path inside src/, or the name of a package. */
  to: string;
  typeOnly: boolean;
}

const files = globSync('**/*.ts', { cwd: src }).sort();
export const contents = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
export const imports = [...contents].flatMap(([from, content]) =>
  [...content.matchAll(/^(?:import|export)\b(?:([^'";=]*?)\bfrom)?\s*'([^']+)'|\bimport\('([^']+)'\)/gm)].map(
    ([, clause, stated, dynamic]): Import => {
      const name = stated ?? dynamic ?? '';
      const to = name.startsWith('.') ? relative(src, join(src, dirname(from), name)) : name;
      return { from, to, typeOnly: /^\s*type\b/.test(clause ?? '') };
    },
  ),
);

/** Parts that stand alone: each is one room with all its folders, and has a door, by which alone others import it. */
export const doors: Record<string, readonly string[]> = {
  'vin-files': ['vin-files/index.ts'],
  // Threads load the brands without the clients of providers.
  manufacturers: ['manufacturers/index.ts', 'manufacturers/brands.ts'],
  console: ['console/index.ts'],
};

/** Every room may import this one, and the types of `config`. */
export const everyones = 'telemetry';

const folderOf = (path: string): string => (path.split('/')[0] ?? '').replace('.ts', '');

/** For each folder of src/ the folders that it imports, but for those that it reaches by another one. */
function arrows(): Map<string, string[]> {
  const seen = imports.filter(({ to, typeOnly }) => contents.has(to) && !(typeOnly && to === 'config.ts'));
  const next = new Map<string, Set<string>>(files.map((file) => [folderOf(file), new Set()]));
  for (const { from, to } of seen)
    if (folderOf(from) !== folderOf(to) && folderOf(to) !== everyones) next.get(folderOf(from))?.add(folderOf(to));
  const reached = (folder: string): Set<string> =>
    new Set([...(next.get(folder) ?? [])].flatMap((to) => [to, ...reached(to)]));
  const direct = (folder: string) => {
    const all = [...(next.get(folder) ?? [])];
    return all.filter((to) => !all.some((other) => reached(other).has(to))).sort();
  };
  return new Map(
    [...next.keys()]
      .sort((a, b) => reached(b).size - reached(a).size || (a < b ? -1 : 1))
      .map((folder) => [folder, direct(folder)]),
  );
}

/** Mermaid's text: arrows lead to what a folder imports, double frames are parts that stand alone. */
export function drawRooms(): string {
  const shown = (folder: string) => (folder in doors ? `${folder}[[${folder}]]` : folder);
  const lines = [...arrows()].flatMap(([from, to]) =>
    to.length > 0 ? [`  ${from} --> ${to.map(shown).join(' & ')}`] : [],
  );
  return ['```mermaid', 'flowchart TD', ...lines, '```'].join('\n');
}

export const picturePattern = /```mermaid\n[^`]*```/;

if (import.meta.main) {
  const path = join(src, '../docs/architecture.md');
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(picturePattern, () => drawRooms()),
  );
}
