/**
 * Compares ways to write JSON in SQL that give the same response, to find the cheapest one.
 * Run:  npx node bench/floor/candidates.ts [--postgres 18] [--rounds 60]                       (Linux)
 * Read: microseconds of CPU per response, of the PostgreSQL backend and this process together, for prepared statements
 * with a generic plan; medians of interleaved rounds. CPU is measured because a busy machine stretches wall time.
 * Styles with native times give another format and are listed for comparison.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { seed } from '../seed.ts';
import { inTurns, median, printTable } from '../support/measure.ts';
import { migrate, openWorld } from '../support/world.ts';
import { reads } from './reads.ts';
import { build, format, pieces, rows, type Style } from './styles.ts';

const { values: options } = parseArgs({
  options: { postgres: { type: 'string', default: '18' }, rounds: { type: 'string', default: '60' } },
});
const TIMES = 20;

const styles: Record<string, Style> = {
  'json_build_object, to_char': build('to_char'),
  'json_agg of rows, to_char': rows('to_char'),
  'json_agg of rows, casts': rows('cast'),
  'format, to_char': format('to_char'),
  'format, casts': format('cast'),
  'pieces, to_char': pieces('to_char'),
  'pieces, casts': pieces('cast'),
  'format, casts, array_to_string': format('cast', 'array'),
  'json_agg of rows, native times': rows('native'),
  'format, native times': format('native'),
};

await using world = await openWorld({ postgres: options.postgres });
migrate(world.url);
const seeded = await seed(world.url, 10_000);
const client = new pg.Client({
  connectionString: world.admin,
  options: '-c timezone=UTC -c plan_cache_mode=force_generic_plan -c jit=off',
});
await client.connect();
const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows;
const asked: Partial<Record<keyof ReturnType<typeof reads>, [label: string, ...values: string[]]>> = {
  fleets: ['50 fleets'],
  oneFleet: ['100 vehicles', seeded.fleetOf100],
  eligibility: ['an eligibility', seeded.vin],
  twentyFleets: ['20 fleets × 20 vehicles'],
  'README’s': ['README’s document'],
  '100 contracts with fleet and vehicle': ['100 contracts'],
};
const table: string[][] = Object.keys(styles).map((name) => [name]);
for (const [index, [name, [, ...values]]] of Object.entries(asked).entries()) {
  const samples = await inTurns(Object.keys(styles), Number(options.rounds), async (style) => {
    const text = reads(styles[style] as Style)[name as keyof typeof asked];
    const began = microseconds();
    for (let left = TIMES; left > 0; left--) await client.query({ name: `${index} ${style}`, text, values });
    return (microseconds() - began) / TIMES;
  });
  for (const [at, times] of [...samples.values()].entries()) table[at]?.push(median(times).toFixed(0));
}
await client.end();
printTable(['µs for', ...Object.values(asked).map(([name]) => name)], table);

function microseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system + Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
}
