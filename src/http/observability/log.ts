import { createRequire } from 'node:module';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../../config.ts';

interface Secret {
  /** Whether a line may hold one at all: most do not, and to look for one takes longer than to write the line. */
  isLikely(line: string): boolean;
  pattern: RegExp;
  instead: string;
}

/** Patterns that must not be in a log, whatever their source: errors of the database, for one, quote rows. */
const secrets: readonly Secret[] = [
  {
    isLikely: (line) => line.includes('eyJ'),
    pattern: /(?<![\w-])(?=[\w-]*eyJ)[\w-]+\.[\w-]+\.[\w-]*/g,
    instead: '[token]',
  },
  { isLikely: (line) => line.includes('@'), pattern: /(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.+@-]+/g, instead: '[e-mail]' },
  {
    isLikely: (line) => hasWord(line, VIN_LENGTH),
    // The characters before are those of a JSON escape such as \n, or none that belong to a word.
    pattern: /(?<=\\[nrt]|(?<![A-Za-z0-9]))(?=[A-Z]{0,16}\d)[A-HJ-NPR-Z0-9]{13}(?=[A-HJ-NPR-Z0-9]{4}(?![A-Za-z0-9]))/gi,
    instead: '[VIN]…',
  },
];

const VIN_LENGTH = 17;
const isAlphanumeric = Array.from({ length: 128 }, (_, code) => /[A-Za-z0-9]/.test(String.fromCharCode(code)));

/** Whether so many letters and digits stand side by side: looked for from behind, so that most of the text is passed over. */
function hasWord(text: string, length: number): boolean {
  for (let end = length; end <= text.length; ) {
    let at = end - 1;
    while (at >= end - length && isAlphanumeric[text.charCodeAt(at)]) at -= 1;
    if (at < end - length) return true;
    end = at + 1 + length;
  }
  return false;
}

/** The service's log: a line for each event, for programs or for people, without tokens, e-mail addresses and all but the end of VINs. */
export function openLog(
  { LOG_LEVEL, LOG_FORMAT }: Pick<Config, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  destination?: DestinationStream,
): Logger {
  const options = { level: LOG_LEVEL, hooks: { streamWrite: masked } };
  if (LOG_FORMAT === 'json') return pino(options, destination ?? standardOutput());
  // Loaded where somebody looks on only.
  const pretty = createRequire(import.meta.url)('pino-pretty');
  return pino(
    options,
    pretty({ destination, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', singleLine: true }),
  );
}

/** Lines are written when there are so many characters of them, and after so long in any case. */
const LEAST_CHARACTERS = 4096;
const LATEST_MS = 50;
/** The most characters that wait for a slow reader; further lines are lost, to bound memory. */
const LONGEST_BACKLOG = 16 * 1024 * 1024;
/** How long a process that ends waits for a slow reader. */
const LAST_WORDS_MS = 1000;

/** The process's own output. A reader that is slow, or has gone, holds up neither the process nor its end. */
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
  // Lines that a slow reader or a full disk did not take are written with the next ones.
  output.on('error', () => {});
  process.once('exit', () => {
    ending = performance.now() + LAST_WORDS_MS;
    try {
      output.flushSync();
    } catch {
      // The reader has gone.
    }
  });
  return output;
}

/** The text as it may leave the process, to the log or to whoever collects traces. */
export const masked = (line: string): string =>
  secrets.reduce(
    (text, { isLikely, pattern, instead }) => (isLikely(text) ? text.replaceAll(pattern, instead) : text),
    line,
  );
