// Each command that reads the database ends by each of its faults with a sentence, soon.
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { asAdmin, databaseEnv } from '../support/database.ts';
import { at, createRole, execute } from '../support/operator.ts';

const given = inject('database');
const env = await databaseEnv();
const url = env.DATABASE_URL ?? '';
const name = url && new URL(url).pathname.slice(1);

const edited = (edit: (address: URL) => void): string => {
  const address = new URL(url);
  edit(address);
  return address.href;
};

/** A server that accepts, and says nothing, or ends at once. */
async function port(accept: 'silent' | 'ends'): Promise<number> {
  const server = createServer((socket) => void (accept === 'ends' && socket.destroy())).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as { port: number }).port;
}

/** Addresses of databases with a fault, and what a command says of it. */
const faults: Record<string, [says: RegExp, make: () => Promise<string> | string]> = {
  'a wrong password': [/correct user and password/, () => edited((one) => Object.assign(one, { password: 'wrong' }))],
  'no password': [
    /asks for a password, and the address has none/,
    () => edited((one) => Object.assign(one, { password: '' })),
  ],
  'no such role': [/correct user and password/, () => edited((one) => Object.assign(one, { username: 'nobody' }))],
  'no such database': [
    /"nowhere" does not exist; create it/,
    () => edited((one) => Object.assign(one, { pathname: 'nowhere' })),
  ],
  'no such host': [
    /see that the server runs, and that the address leads there/,
    () => edited((one) => Object.assign(one, { hostname: 'nowhere.invalid' })),
  ],
  'nobody at the port': [
    /see that the server runs, and that the address leads there/,
    () => edited((one) => Object.assign(one, { port: '1' })),
  ],
  'a server that says nothing': [
    /see that the server runs, and that the address leads there/,
    async () => {
      const own = String(await port('silent'));
      return edited((one) => Object.assign(one, { hostname: '127.0.0.1', port: own }));
    },
  ],
  'a server that ends connections': [
    /try again/,
    async () => {
      const own = String(await port('ends'));
      return edited((one) => Object.assign(one, { hostname: '127.0.0.1', port: own }));
    },
  ],
  'no connection left': [
    /raise max_connections/,
    async () => {
      await execute(asAdmin(env), `alter database ${name} connection limit 0`);
      onTestFinished(async () => {
        await execute(asAdmin(env), `alter database ${name} connection limit -1`);
      });
      return url;
    },
  ],
  'a role without rights': [
    /grant usage on it|finds no tables/,
    async () => {
      if (given.kind !== 'postgresql') return '';
      const role = `without_rights_${process.pid}`;
      await execute(
        given.admin,
        ...createRole(role, { search_path: 'fleets' }),
        `grant connect on database ${name} to ${role}`,
      );
      onTestFinished(async () => {
        await execute(given.admin, `revoke connect on database ${name} from ${role}`, `drop role ${role}`);
      });
      return at(url, name, role);
    },
  ],
};

const commands: [program: string, ...args: string[]][] = [
  ['main'],
  ['commands/migrate', 'up'],
  ['commands/migrate', 'status'],
  ['commands/activations', '--plan'],
  ['commands/activations', '--audit'],
  ['commands/companies', 'list'],
  ['commands/companies', 'place', 'acme', 'b'],
  ['commands/companies', 'move', 'acme', 'b'],
];

async function ended(address: string, program: string, args: string[]) {
  const own = {
    DATABASE_URL: address,
    DATABASE_ADMIN_URLS: `a=${address},b=${address}`,
    INSTALLATION: 'a',
    INSTALLATIONS: 'a=http://a.example,b=http://b.example',
    AUTH_ISSUER: 'https://issuer.example',
    CONTRACTS_AUTH: 'open',
    CONTRACTS_ACTIVATION: 'on',
    HIGH_MOBILITY_URL: 'http://127.0.0.1:1',
    HIGH_MOBILITY_CLIENT_ID: 'client',
    HIGH_MOBILITY_CLIENT_SECRET: 'secret',
    PORT: '0',
    LOG_LEVEL: 'silent',
  };
  const { code, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', './src/preload.js', `src/${program}.ts`, ...args],
    // Those that wait for ever, or for half a minute, are killed, and have no code.
    { env: { PATH: process.env.PATH, ...own }, timeout: 25_000 },
  ).then(
    (outputs) => ({ code: 0, ...outputs }),
    (error: { code: number; stderr: string }) => error,
  );
  return { command: [program, ...args].join(' '), code, said: stderr };
}

describe.runIf(given.kind === 'postgresql')('A command ends soon, with what to do,', () => {
  test.each(Object.entries(faults))('by %s', async (_fault, [says, make]) => {
    const address = await make();
    const all = await Promise.all(commands.map(([program, ...args]) => ended(address, program, args)));
    for (const one of all) {
      expect(one).toMatchObject({ code: expect.toBeOneOf([1, 2]), said: expect.stringMatching(says) });
      expect(one.said.trim()).not.toContain('\n');
    }
  });
});
