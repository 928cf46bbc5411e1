import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The options of a command; throws with the reason and the usage for an unknown one. */
export function readOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
) {
  try {
    return parseArgs({ args, options }).values;
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
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = failed;
  }
}
