import { createRequire } from 'node:module';
import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';
import type { Config } from '../../config.ts';

interface Secret {
  /** Whether a line may hold one at all: most do not, and to look for one takes longer than to write the line. */
  isLikely(line: string): boolean;
  pattern: RegExp;
  instead: string;
}

/** What must not be in a log, wherever it comes from: errors of the database, for one, quote rows. */
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

/** A line waits so long for others at most, and so many characters do. */
const TOGETHER_MS = 10;
const TOGETHER_CHARACTERS = 64 * 1024;
/** A reader that takes nothing, or a disk that is full, is tried again after so long. */
const TRIED_AGAIN_MS = 100;
/** So many bytes wait for it; lines that come then are lost, before they take the memory of the process. */
const LONGEST_BACKLOG = 16 * 1024 * 1024;
/** And so long when the process ends. */
const LAST_WORDS_MS = 1000;

/**
 * The process's own output. Lines that come soon after each other are written together: a write costs as much as a good part
 * of a small request. A reader that is slow, or has gone, holds up neither the process nor its end.
 */
function standardOutput(): DestinationStream {
  let ending = Number.NEGATIVE_INFINITY;
  const output = new sonicBoom.SonicBoom({
    fd: 1,
    sync: true,
    maxLength: LONGEST_BACKLOG,
    retryEAGAIN: () => performance.now() < ending,
  });
  let lines = '';
  let gone = false;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (!gone) output.write(lines);
    lines = '';
  };
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    gone = code === 'EPIPE';
    if (!gone) timer ??= setTimeout(flush, TRIED_AGAIN_MS).unref();
  });
  process.once('exit', () => {
    flush();
    ending = performance.now() + LAST_WORDS_MS;
    try {
      if (!gone) output.flushSync();
    } catch {}
  });
  return {
    write(line) {
      lines += line;
      if (lines.length > TOGETHER_CHARACTERS) flush();
      else timer ??= setTimeout(flush, TOGETHER_MS);
    },
  };
}

/** The text as it may leave the process, to the log or to whoever collects traces. */
export const masked = (line: string): string =>
  secrets.reduce(
    (text, { isLikely, pattern, instead }) => (isLikely(text) ? text.replaceAll(pattern, instead) : text),
    line,
  );
