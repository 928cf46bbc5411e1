import module from 'node:module';
import { join } from 'node:path';

// Loaded before everything else, by `node --import`. In JavaScript: before the cache is on, Node would load its compiler of
// TypeScript to read this file, 20 MB which stay.

// An older Node still reads this file, and cannot read or run the next ones.
if (process.versions.node.localeCompare('24.6', 'en', { numeric: true }) < 0) {
  console.error(
    `Fleet Gateway needs Node 24.6 or newer; this is ${process.version}. Run npm ci without --omit=optional, which installs the right Node, or install Node 24.6 or newer yourself.`,
  );
  process.exit(1);
}

/**
 * What V8 compiles is kept for the next start, which takes a quarter less time. It lies where `npm ci` cleans up, and not in a
 * folder that other users can write to; where it cannot be written, all goes as without it.
 */
module.enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled'));

/** Unless it is said otherwise: graphql-js checks more in development, which costs a mutation 12 µs. */
process.env.NODE_ENV ??= 'production';
