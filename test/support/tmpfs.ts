import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Mounts a tmpfs of this size (such as `200m`), as root on Linux; returns a function that unmounts it. */
export function mountTmpfs(folder: string, size: string, options = ''): () => void {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}${options}`, 'tmpfs', folder], { stdio: 'ignore' });
  return () => void execFileSync('umount', [folder]);
}

export function mayMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    mountTmpfs(join(inject('database').folder, 'tmpfs'), '1m')();
    return true;
  } catch {
    return false;
  }
}
