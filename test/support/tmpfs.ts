import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Mounts a file system of this size (like `200m`) here, which only root may on Linux; gives what unmounts it. */
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
