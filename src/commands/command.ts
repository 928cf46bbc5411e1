import { type ParseArgsConfig, parseArgs } from 'node:util';
import { endOf } from '../database/reason.ts';

type OptionTypes = NonNullable<ParseArgsConfig['options']>;

/** The options of a command, and what stands between them; throws with the reason and the usage for an unknown one. */
export function readArguments<const Options extends OptionTypes>(args: string[], options: Options, usage: string) {
  const { values, positionals } = parsed({ args, options, allowPositionals: true }, usage);
  return { ...values, positionals };
}

/** The options of a command that has nothing else. */
export const readOptions = <const Options extends OptionTypes>(args: string[], options: Options, usage: string) =>
  parsed({ args, options }, usage).values;

function parsed<const Config extends ParseArgsConfig>(config: Config, usage: string) {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : cause}\n${usage}`, { cause });
  }
}

/** Runs a command of `npm run`: `--help` prints how it is used, an error its message alone. */
export async function runCommand(
  { usage, failed = 1 }: { usage: string; failed?: number },
  main: (args: string[], env: NodeJS.ProcessEnv) => Promise<number>,
): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) return console.log(usage);
  try {
    process.exitCode = await main(args, process.env);
  } catch (error) {
    console.error(endOf(error) ?? (error instanceof Error ? error.message : error));
    process.exitCode = failed;
  }
}
