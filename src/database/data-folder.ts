import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from './database.ts';

/** The error of a DATA_DIR that cannot be used, for the reason that `cause` has. */
export const dataFolderError = (folder: string, cause: unknown): StartError => {
  const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : cause;
  return new StartError(
    `DATA_DIR ${folder} cannot be used: ${why}. Name a folder that this process may write, or one that it can make.`,
    { cause },
  );
};

/** Makes DATA_DIR if it is missing; throws StartError unless this process may write it. */
export function openDataFolder(folder: string): void {
  try {
    make(folder);
    // A file has no such entry.
    accessSync(`${folder}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw dataFolderError(folder, error);
  }
}

/** Node's recursive mkdir never ends where a file system, such as /proc, answers that its own folder is missing. */
function make(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) make(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have been quicker.
    if (!existsSync(folder)) throw error;
  }
}
