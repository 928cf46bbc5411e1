import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let files = 0;

/** An open file of this content, which is gone when it is closed. */
export async function fileOf(content: string | Buffer): Promise<FileHandle> {
  const path = join(tmpdir(), `vin-files-${process.pid}-${files++}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  await file.writeFile(content);
  return file;
}
