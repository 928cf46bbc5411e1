// Clients generated from the OpenAPI document, and its linters.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createViteServer } from 'vitest/node';
import { newVin } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { generators } from '../support/generated-clients.ts';

const run = promisify(execFile);
const tools = resolve('test/tools/node_modules');
const there = existsSync(tools);
if (!there) console.log('The generators of clients are left out; `npm ci --prefix test/tools` brings them.');

const flags =
  '--ignoreConfig --noEmit --strict --skipLibCheck --module preserve --target esnext --lib esnext,dom,dom.iterable';

/** A program that uses the generated clients. */
const program = `
import createClient from 'openapi-fetch';
import { client } from './hey-api/client.gen';
import { addVehicles, getEligibility, importVehicles, listContracts } from './hey-api/sdk.gen';
import type { paths } from './schema';

export async function use(baseUrl: string, token: string, vins: [string, string]) {
  const typed = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
  const fields = { name: 'North', companyAddress: 'Main Street 1', email: 'fleet@example.com', vat: 'DE1' };
  const { data: fleet } = await typed.POST('/fleets', { body: fields });
  if (!fleet) throw new Error('no fleet');
  // @ts-expect-error: the name is missing
  const refused = await typed.POST('/fleets', { body: { ...fields, name: undefined } });
  const code: 'VALIDATION_FAILED' | 'FLEET_NOT_FOUND' | string | undefined = refused.error?.code;

  client.setConfig({ baseUrl, auth: () => token });
  const added = await addVehicles({ body: { fleetId: fleet.id, vins: [vins[0]] }, query: { mode: 'atomic' } });
  const uploaded = await importVehicles({ body: { fleetId: fleet.id, vins: new Blob([\`vin\\n\${vins[1]}\\n\`]) } });
  const contracts = await listContracts({ query: { conditions: JSON.stringify({ company: fleet.company }) } });
  const unknown = await getEligibility({ path: { vin: 'X' } });
  return {
    code,
    created: added.data?.summary.created,
    status: added.data?.vehicles[0]?.eligibility.status,
    imported: uploaded.data?.summary.created,
    contracts: contracts.data?.length,
    unknown: unknown.error?.code,
  };
}
`;

describe.skipIf(!there)('clients generated from openapi.json', async () => {
  let folder: string;
  const gateway = await startGateway();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-clients-'));
    await symlink(tools, join(folder, 'node_modules'));
    await writeFile(join(folder, 'use.ts'), program);
    const document = join(folder, 'openapi.json');
    await cp('docs/openapi.json', document);
    const tool = (name: string, ...args: string[]) => run(process.execPath, [join(tools, name), ...args]);
    await tool('openapi-typescript/bin/cli.js', document, '-o', join(folder, 'schema.d.ts'));
    const output = join(folder, 'hey-api');
    await tool('@hey-api/openapi-ts/bin/run.js', '-i', document, '-o', output, '-c', '@hey-api/client-fetch', '-s');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('spectral finds no fault in the document, not even a hint', async () => {
    const args = ['lint', 'docs/openapi.json', '--ruleset', 'test/tools/spectral.yaml', '--fail-severity', 'hint'];
    const { stdout } = await run(process.execPath, [join(tools, '@stoplight/spectral-cli/dist/index.js'), ...args]);
    expect(stdout).toMatch(/^No results/);
  });

  /** The faults that TypeScript finds in a program and what it uses, as strictly as can be. */
  const faults = (program: string) =>
    run(resolve('node_modules/.bin/tsc'), [...flags.split(' '), join(folder, program)]).then(
      () => '',
      ({ stdout }) => stdout,
    );

  /** A program as a module. Generated files import each other without an extension, as bundlers allow. */
  const load = async (program: string) => {
    const bundler = await createViteServer({ configFile: false, root: folder, server: { middlewareMode: true } });
    onTestFinished(() => bundler.close());
    return bundler.ssrLoadModule(join(folder, program));
  };

  test('compile', async () => expect(await faults('use.ts')).toBe(''));

  test('work', async () => {
    const token = (await gateway.services.authenticator.issue?.({ company: 'acme' })) ?? '';
    const { use } = await load('use.ts');
    expect(await use(gateway.url, token, [newVin(), newVin()])).toEqual({
      code: 'VALIDATION_FAILED',
      created: 1,
      status: 'PENDING',
      imported: 1,
      contracts: 0,
      unknown: 'VEHICLE_NOT_FOUND',
    });
  });

  test.each(Object.entries(generators))('made by %s compile and work', async (name, { command, program, files }) => {
    const company = name.replaceAll(/\W+/g, '-');
    const use = `use-${company}.ts`;
    for (const [file, text] of Object.entries({ ...files, [use]: program })) await writeFile(join(folder, file), text);
    const [script, ...args] = command('openapi.json', name);
    await run(process.execPath, [join(tools, script), ...args], { cwd: folder });
    expect(await faults(use)).toBe('');
    const token = (await gateway.services.authenticator.issue?.({ company })) ?? '';
    const loaded = await load(use);
    expect(await loaded.use(gateway.url, token)).toEqual(['DE1']);
  });
});
