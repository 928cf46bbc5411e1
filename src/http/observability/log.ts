import { createRequire } from 'node:module';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../../config.ts';

/** What must not be in a log, wherever it comes from: errors of the database, for one, quote rows. */
const secrets: [RegExp, string][] = [
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[token]'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[e-mail]'],
  // The characters before are those of a JSON escape such as \n, or none that belong to a word.
  [/(?<=\\[nrt]|(?<![A-Za-z0-9]))(?=[A-Z]*\d)[A-HJ-NPR-Z0-9]{13}(?=[A-HJ-NPR-Z0-9]{4}(?![A-Za-z0-9]))/gi, '[VIN]…'],
];

/** The service's log: a line for each event, for programs or for people, without tokens, e-mail addresses and all but the end of VINs. */
export function openLog(
  { LOG_LEVEL, LOG_FORMAT }: Pick<Config, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  destination: DestinationStream = pino.destination(1),
): Logger {
  const options = { level: LOG_LEVEL, hooks: { streamWrite: masked } };
  if (LOG_FORMAT === 'json') return pino(options, destination);
  // Loaded where somebody looks on only.
  const pretty = createRequire(import.meta.url)('pino-pretty');
  return pino(
    options,
    pretty({ destination, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', singleLine: true }),
  );
}

/** The text as it may leave the process, to the log or to whoever collects traces. */
export const masked = (line: string): string =>
  secrets.reduce((text, [secret, instead]) => text.replaceAll(secret, instead), line);
