import { readSettings, settings } from '../config.ts';
import { Installation, MoveError } from '../core/moves/installation.ts';
import { listCompanies } from '../core/moves/list-companies.ts';
import { abortMove, moveCompany, named, placeCompany } from '../core/moves/move-company.ts';
import { readArguments, runCommand } from './command.ts';

const usage = `npm run companies -- list                         prints companies with what they have, and where
npm run companies -- place COMPANY INSTALLATION   says where a company is to be that has nothing yet
npm run companies -- move COMPANY INSTALLATION    moves a company while it works; again, after it was cut off
npm run companies -- move COMPANY INSTALLATION --abort   gives a move up
  --map FILE        HAProxy's map of companies, by the path in its configuration
  --socket ADDRESS  an admin socket of HAProxy (a path, or host:port); several are possible
DATABASE_ADMIN_URLS=a=postgresql://…,b=postgresql://… has an administrator's addresses (docs/operations.md, "Growing past one machine").`;

const options = {
  map: { type: 'string' },
  socket: { type: 'string', multiple: true },
  abort: { type: 'boolean' },
} as const;

const PROGRESS_MS = 5_000;

async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { positionals, map: file, socket = [], abort } = readArguments(args, options, usage);
  const [command = '', company, name, ...rest] = positionals;
  const isList = command === 'list' && company === undefined;
  const isChange = (command === 'move' || (command === 'place' && !abort)) && company && name && rest.length === 0;
  if (!isList && !isChange) throw new Error(usage);
  if (socket.length > 0 && file === undefined) throw new Error(`--socket needs --map\n${usage}`);
  const { DATABASE_ADMIN_URLS } = readSettings(env, settings.pick({ DATABASE_ADMIN_URLS: true }));
  if (!DATABASE_ADMIN_URLS) throw new Error(`DATABASE_ADMIN_URLS: is required\n${usage}`);
  const installations: Installation[] = [];
  try {
    // In the same order for everybody, as each waits for the others.
    for (const [one, url] of Object.entries(DATABASE_ADMIN_URLS).toSorted())
      installations.push(await Installation.open(one, url));
    if (isList || !company || !name) {
      console.table(await listCompanies(installations));
      return 0;
    }
    const begin = performance.now();
    let printedAt = begin;
    const tell = (text: string) => {
      printedAt = performance.now();
      console.log(`${((printedAt - begin) / 1000).toFixed(1)} s: ${text}`);
    };
    const progress = (text: string) => {
      if (performance.now() - printedAt >= PROGRESS_MS) tell(text);
    };
    const moving = { company, installations, map: { file, sockets: socket }, tell, progress };
    const work = command === 'place' ? placeCompany : abort ? abortMove : moveCompany;
    const wait = () => tell(`waits for another command about ${company}`);
    const alone = installations.reduceRight(
      (then, one) => () => one.alone(company, then, wait),
      () => work(moving, named(installations, name)),
    );
    await alone();
    if (file === undefined) tell('no --map: tell the proxy');
    return 0;
  } catch (error) {
    if (!(error instanceof MoveError)) throw error;
    console.error(error.message);
    return 1;
  } finally {
    await Promise.all(installations.map((one) => one.close()));
  }
}

await runCommand({ usage, failed: 2 }, main);
