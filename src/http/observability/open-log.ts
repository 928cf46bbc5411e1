import { createRequire } from 'node:module';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../../config.ts';

interface Secret {
  /** A text in each of them, which most lines lack: the pattern takes longer to find. */
  sign?: string;
  pattern: RegExp;
  instead: string;
}

/** Patterns that no log may hold, such as values in errors of the database. */
const secrets: readonly Secret[] = [
  {
    sign: 'eyJ',
    pattern: /(?<![\w-])(?=[\w-]*eyJ)[\w-]+\.[\w-]+\.[\w-]*/g,
    instead: '[token]',
  },
  {
    sign: '@',
    pattern: /(?<![\p{L}\p{M}\p{N}_.+-])[\p{L}\p{M}\p{N}_.+-]+@[\p{L}\p{M}\p{N}_-]+\.[\p{L}\p{M}\p{N}_.+@-]+/gu,
    instead: '[e-mail]',
  },
  {
    // Preceded by a JSON escape such as \n, or no character of a word.
    pattern: /(?<=\\[nrt]|(?<![A-Za-z0-9]))(?=[A-Z]{0,16}\d)[A-HJ-NPR-Z0-9]{13}(?=[A-HJ-NPR-Z0-9]{4}(?![A-Za-z0-9]))/gi,
    instead: '[VIN]…',
  },
];

/** The log for programs or people, without tokens, e-mail addresses and all but the end of VINs. */
export function openLog(
  { LOG_LEVEL, LOG_FORMAT }: Pick<Config, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  destination?: DestinationStream,
): Logger {
  const options = { level: LOG_LEVEL, hooks: { streamWrite: masked } };
  const output = destination ?? standardOutput();
  if (LOG_FORMAT === 'json') return pino(options, output);
  const pretty = createRequire(import.meta.url)('pino-pretty');
  const form = { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', singleLine: true };
  // With an output of its own, it would end the process once a pipe is reset instead of closed.
  return pino(options, pretty({ destination: output, ...form }));
}

/** Lines are written at this number of characters, or after this time. */
const LEAST_CHARACTERS = 4096;
const LATEST_MS = 50;
/** The most characters that wait for a slow reader; further lines are lost. */
const LONGEST_BACKLOG = 16 * 1024 * 1024;
const LAST_WORDS_MS = 1000;

/** Standard output, whose slow or closed reader holds up neither the process nor its end. */
function standardOutput(): DestinationStream {
  let ending = Number.NEGATIVE_INFINITY;
  const output = pino.destination({
    dest: 1,
    sync: true,
    minLength: LEAST_CHARACTERS,
    periodicFlush: LATEST_MS,
    maxLength: LONGEST_BACKLOG,
    retryEAGAIN: () => performance.now() < ending,
  });
  // Lines that could not be written are written with the next ones.
  output.on('error', () => {});
  process.once('exit', () => {
    ending = performance.now() + LAST_WORDS_MS;
    try {
      output.flushSync();
    } catch {
      // The reader has closed it.
    }
  });
  return output;
}

/** The text without secrets, as it may leave the process. */
export const masked = (line: string): string =>
  secrets.reduce(
    (text, { sign = '', pattern, instead }) => (text.includes(sign) ? text.replaceAll(pattern, instead) : text),
    line,
  );
