/**
 * Measures the small requests of a company, and /livez, while another company has event streams open and uploads a file.
 *
 * Run:  npx node bench/followers.ts [--rows 50000] [--followers 0,100,1000] [--pace 5] [--uploads 2] [--ways rest,sse,ws]
 * Read: each request is sent alone, `pace` milliseconds after the previous response: first without other load, then
 * from the first upload until each follower has been told of the last one's end. "ratio" is p99 divided by p99 without
 * load. The followers' process shares the machine. Vehicles are of a manufacturer without a provider, so that the
 * events are those of the uploads alone: one for each 1,000 vehicles.
 */
import { fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import { COMPANY, openImportWorld } from './import-world.ts';
import type { Followed } from './support/followed.ts';
import { openSmallCompany } from './support/small-company.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '50000' },
    followers: { type: 'string', default: '0,100,1000' },
    pace: { type: 'string', default: '5' },
    uploads: { type: 'string', default: '2' },
    ways: { type: 'string', default: 'rest,sse,ws' },
  },
});
const uploads = Number(options.uploads);
const rows = Number(options.rows);
let vins = 0;
const vin = () => `WP0${String(++vins).padStart(14, '0')}\n`;

await using world = await openImportWorld({ settings: { WORKERS: 'on' } });
const small = await openSmallCompany(world, Number(options.pace));
const alone = await small.during('without other load', 10);
for (const way of options.ways.split(',')) {
  for (const count of options.followers.split(',').map(Number)) {
    const followers = fork(new URL('support/followed.ts', import.meta.url));
    const ended = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    followers.on('message', (told) => (told === 'open' ? opened.resolve() : ended.resolve()));
    followers.send({ url: world.url, headers: world.headersOf(COMPANY), way, count, ends: uploads } satisfies Followed);
    await opened.promise;
    const load = async () => {
      for (let at = 0; at < uploads; at++) await world.upload(Array.from({ length: rows }, vin));
      await ended.promise;
    };
    await small.during(`beside ${count} followers (${way})`, load, alone);
    followers.disconnect();
  }
}
