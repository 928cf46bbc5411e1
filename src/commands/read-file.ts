import { open } from 'node:fs/promises';
import { counted } from '../core/counted.ts';
import { FileRejection, openVinFile, readVin, type TableLayout, usualLimits } from '../vin-files/index.ts';
import { readArguments, runCommand } from './command.ts';

const usage = `Usage: npm run read-file -- vins.xlsx [--column NAME]
Prints what an upload of this file would read: its columns, each VIN with the number of its row, and why other rows are rejected.
Nothing is sent. Exit code 0: every row has a VIN; 1: some were rejected; 2: the file cannot be read.`;

const options = { column: { type: 'string' } } as const;

async function main(args: string[]): Promise<number> {
  const { column, positionals } = readArguments(args, options, usage);
  const [path] = positionals;
  if (!path || positionals.length > 1) throw new Error(`Name one file.\n${usage}`);
  await using file = await open(path);
  const { rows, ...layout } = await openVinFile(file, { ...usualLimits, column }).catch(withCode);
  console.log(titleOf(layout));
  let vins = 0;
  let rejected = 0;
  try {
    for await (const batch of rows) {
      const readings = batch.map(({ row, value }) => ({ row, reading: readVin(value) }));
      rejected += readings.filter(({ reading }) => 'code' in reading).length;
      vins += readings.filter(({ reading }) => 'vin' in reading).length;
      console.log(readings.map(({ row, reading }) => `row ${row}: ${textOf(reading)}`).join('\n'));
    }
  } catch (error) {
    withCode(error);
  }
  console.log(`${counted(vins + rejected, 'row')}: ${counted(vins, 'VIN')}, ${rejected} rejected`);
  return rejected > 0 ? 1 : 0;
}

function withCode(error: unknown): never {
  throw error instanceof FileRejection ? new Error(`${error.code}: ${error.message}`, { cause: error }) : error;
}

function titleOf({ sheet, columns, column }: TableLayout): string {
  const names = columns?.map((name) => JSON.stringify(name)).join(', ');
  const table = column === null ? 'no header' : `columns: ${names}; VINs are in ${JSON.stringify(column)}`;
  return sheet === null ? table : `sheet ${JSON.stringify(sheet)}; ${table}`;
}

const textOf = (reading: ReturnType<typeof readVin>): string =>
  'code' in reading
    ? `rejected: ${reading.code}: ${reading.message}`
    : [reading.vin, ...reading.warnings.map((warning) => `(${warning})`)].join(' ');

await runCommand({ usage, failed: 2 }, main);
